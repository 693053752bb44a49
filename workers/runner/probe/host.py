"""Reads the machine itself: kernel, processor, memory, disk, user."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workers.protocol.readings import ProbeReading
from workers.runner.probe.measure import measure, read_file


def host_readings(_: Path | None) -> Iterator[ProbeReading]:
    """Read kernel (and whether it is WSL), processor, memory, disk and user."""
    yield read_file("kernel", Path("/proc/version"), _kernel)
    yield read_file("cpu", Path("/proc/cpuinfo"), _cpu)
    yield read_file("memory", Path("/proc/meminfo"), _memory)
    yield measure("disk", f"statvfs {tempfile.gettempdir()}", _ask_disk, json.loads)
    yield measure("user", "geteuid, getuser", _ask_user, json.loads)
    yield measure("platform", "platform.machine, libc_ver, python_version", _ask_platform, json.loads)


def _kernel(output: str) -> dict[str, str]:
    is_wsl = re.search(r"microsoft|wsl", output, re.IGNORECASE) is not None
    return {"wsl": "yes" if is_wsl else "no", "release": platform.release()}


def _cpu(output: str) -> dict[str, str]:
    fields = dict(_field(line) for line in output.splitlines() if ":" in line)
    return {
        "model": fields.get("model name", ""),
        "flags": fields.get("flags", fields.get("Features", "")),
        "count": str(os.cpu_count() or 0),
        "architecture": platform.machine(),
    }


def _memory(output: str) -> dict[str, str]:
    fields = dict(_field(line) for line in output.splitlines() if ":" in line)
    kib = {key: fields[key].split()[0] for key in ("MemTotal", "MemAvailable") if key in fields}
    return {key: str(int(value) * 1024) for key, value in kib.items()}


def _field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def _ask_disk() -> tuple[str, int]:
    usage = shutil.disk_usage(tempfile.gettempdir())
    return json.dumps({"total": str(usage.total), "free": str(usage.free)}), 0


def _ask_user() -> tuple[str, int]:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = ""
    return json.dumps({"name": name, "uid": str(os.geteuid())}), 0


def _ask_platform() -> tuple[str, int]:
    values = {
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
    }
    return json.dumps(values), 0

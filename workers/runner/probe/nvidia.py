"""Reads the driver and the devices: NVML, nvidia-smi and libcuda, each for itself."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from workers.protocol.readings import ProbeReading
from workers.runner.nvml import nvml, nvml_session, text
from workers.runner.probe.measure import measure, run_command

_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}


def nvidia_readings(_: Path | None) -> Iterator[ProbeReading]:
    """Read driver and devices."""
    system = measure("nvml", "nvml driver, CUDA driver version, device count", _ask_system, json.loads)
    yield system
    for index in range(int(system.values.get("devices", "0"))):
        yield _device(index)
    yield run_command("nvidia-smi", ["nvidia-smi"])
    yield measure("libcuda", "load libcuda.so.1, cuDriverGetVersion", _ask_libcuda, json.loads)
    yield measure("mps", "list /tmp/nvidia-mps", _ask_mps)


def _ask_system() -> tuple[str, int]:
    def ask() -> dict[str, str]:
        return {
            "driver": text(nvml.nvmlSystemGetDriverVersion()),
            "cuda_driver": str(nvml.nvmlSystemGetCudaDriverVersion()),
            "devices": str(nvml.nvmlDeviceGetCount()),
        }

    return _asked(ask)


def _device(index: int) -> ProbeReading:
    def ask() -> dict[str, str]:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        return {
            "name": text(nvml.nvmlDeviceGetName(handle)),
            "uuid": text(nvml.nvmlDeviceGetUUID(handle)),
            "compute_capability": f"{major}.{minor}",
            "compute_mode": _or_error(lambda: _compute_mode(handle)),
            "mig": _or_error(lambda: _mig(handle)),
            "memory_total": str(memory.total),
            "memory_free": str(memory.free),
            "processes": _or_error(lambda: str(len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)))),
        }

    return measure(f"nvml.device.{index}", f"nvml device {index}", lambda: _asked(ask), json.loads)


def _compute_mode(handle: Any) -> str:
    mode = nvml.nvmlDeviceGetComputeMode(handle)
    return _COMPUTE_MODES.get(mode, str(mode))


def _mig(handle: Any) -> str:
    current, _ = nvml.nvmlDeviceGetMigMode(handle)
    if not current:
        return "off"
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            found.append(text(nvml.nvmlDeviceGetUUID(instance)))
        except nvml.NVMLError:
            continue  # no instance stands at this place
    return "on: " + (", ".join(found) or "no instance")


def _or_error(ask: Callable[[], str]) -> str:
    """Give the value, or NVML's own words: not every device answers every question."""
    try:
        return ask()
    except nvml.NVMLError as error:
        return f"not told: {error}"


def _asked(ask: Callable[[], dict[str, str]]) -> tuple[str, int]:
    try:
        with nvml_session():
            return json.dumps(ask()), 0
    except nvml.NVMLError as error:
        return f"{type(error).__name__}: {error}", int(error.value)


def _ask_libcuda() -> tuple[str, int]:
    library = ctypes.CDLL("libcuda.so.1")
    version = ctypes.c_int()
    result = library.cuDriverGetVersion(ctypes.byref(version))
    return json.dumps({"version": str(version.value)}), int(result)


def _ask_mps() -> tuple[str, int]:
    """Look for the daemon through which other processes would launch in this one's place."""
    folder = Path("/tmp/nvidia-mps")  # noqa: S108 - the daemon's own default
    return ("running", 0) if folder.is_dir() else (f"{folder} is not there", 1)

"""Takes one reading: a command, or a question that needs no process."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from workers.protocol.readings import ProbeReading

_KEPT = 16_000

Values = Callable[[str], Mapping[str, str]]


def _nothing(_: str) -> Mapping[str, str]:
    return {}


def measure(
    name: str, command: str, ask: Callable[[], tuple[str, int]], values: Values = _nothing
) -> ProbeReading:
    """Ask, and keep answer, exit code and time. An error of the system is an answer too."""
    started_at = datetime.now(UTC).isoformat()
    begun = time.monotonic()
    exit_code: int | None
    try:
        output, exit_code = ask()
    except (OSError, subprocess.SubprocessError) as error:
        output, exit_code = f"{type(error).__name__}: {error}", None
    return ProbeReading(
        name=name,
        command=command,
        output=output[:_KEPT].replace("\x00", "\ufffd"),
        exit_code=exit_code,
        started_at=started_at,
        duration_s=round(time.monotonic() - begun, 6),
        values=values(output) if exit_code == 0 else {},
    )


def run_command(
    name: str, command: Sequence[str], values: Values = _nothing, folder: Path | None = None
) -> ProbeReading:
    """Run a command and keep what it wrote, on both streams."""

    def ask() -> tuple[str, int]:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=60,
            cwd=folder,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace"), done.returncode

    return measure(name, " ".join(command), ask, values)


def read_file(name: str, path: Path, values: Values = _nothing) -> ProbeReading:
    """Read a file."""
    return measure(name, f"read {path}", lambda: (path.read_text("utf-8", "replace"), 0), values)


def list_folder(name: str, folder: Path, pattern: str = "*") -> ProbeReading:
    """List a folder: exit code 0 with names, 1 where it is empty or not there."""

    def ask() -> tuple[str, int]:
        names = sorted(path.name for path in folder.glob(pattern)) if folder.is_dir() else []
        if names:
            return "\n".join(names), 0
        return (f"{folder} holds nothing like {pattern}" if folder.is_dir() else f"{folder} is not there"), 1

    return measure(name, f"list {folder}/{pattern}", ask, lambda text: {"entries": str(len(text.split()))})

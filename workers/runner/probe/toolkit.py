"""Reads the CUDA toolkit, each part for itself: headers without nvcc are no missing toolkit."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path

from workers.protocol.readings import ProbeReading
from workers.runner.probe.measure import list_folder, measure, run_command

_TOOLKITS = Path("/usr/local")
_DISTRIBUTIONS = ("nvidia-cuda-cupti", "nvidia-cuda-cupti-cu13", "nvidia-cuda-cupti-cu12")


def toolkit_readings(_: Path | None) -> Iterator[ProbeReading]:
    """Read toolkit, assembler, compiler and CUPTI."""
    yield list_folder("cuda", _TOOLKITS, "cuda*")
    for part in ("include", "lib64", "bin"):
        yield list_folder(f"cuda.{part}", _TOOLKITS / "cuda" / part)
    yield run_command("nvcc", [_tool("nvcc"), "--version"], _release)
    yield run_command("ptxas", [_tool("ptxas"), "--version"], _release)
    yield run_command("cc", ["cc", "--version"])
    yield measure("cupti", "list libcupti.so.* of toolkits and wheels", _ask_cupti, json.loads)


def find_cupti(cuda_driver: int, libraries: dict[str, str]) -> str | None:
    """Choose the newest CUPTI that this driver takes: one of its own major version, or older.

    `libraries` maps paths to version texts such as `13` or `2025.3.1`, as the reading `cupti` holds them.
    """
    major = cuda_driver // 1000
    usable = [(_major(path), path) for path in libraries if 0 < _major(path) <= major]
    return max(usable)[1] if usable else None


def cupti_libraries() -> dict[str, str]:
    """Find every libcupti on this machine, with where it comes from."""
    found: dict[str, str] = {}
    for toolkit in sorted(_TOOLKITS.glob("cuda*")):
        for folder in ("extras/CUPTI/lib64", "lib64"):
            _add(found, (toolkit / folder).glob("libcupti.so.[0-9]*"), "toolkit")
    for name in _DISTRIBUTIONS:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
        wheel = [path for path in paths if path.name.startswith("libcupti.so")]
        _add(found, iter(wheel), f"wheel {name} {distribution.version}")
    return found


def _add(found: dict[str, str], paths: Iterator[Path], origin: str) -> None:
    known = {Path(path).resolve() for path in found}
    for path in sorted(paths):
        if path.is_file() and _major(str(path)) > 0 and path.resolve() not in known:
            known.add(path.resolve())
            found[str(path)] = origin


def _major(path: str) -> int:
    """Read CUDA's major version off the file name; toolkits also install `libcupti.so.2025.3.1`."""
    match = re.search(r"libcupti\.so\.(\d+)", path)
    number = int(match.group(1)) if match else 0
    if number < 1000:
        return number
    folder = re.search(r"/cuda-(\d+)", str(Path(path).resolve()))
    return int(folder.group(1)) if folder else 0


def _ask_cupti() -> tuple[str, int]:
    found = cupti_libraries()
    return (json.dumps(found), 0) if found else ("no libcupti.so in a toolkit or a wheel", 1)


def _tool(name: str) -> str:
    installed = _TOOLKITS / "cuda" / "bin" / name
    return str(installed) if installed.is_file() else name


def _release(output: str) -> dict[str, str]:
    match = re.search(r"release [\d.]+, V([\d.]+)", output)
    return {"version": match.group(1)} if match else {}

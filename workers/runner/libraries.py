"""Reads which libraries a process loaded from the dynamic linker's own record.

CUPTI sees CUDA alone. A process that works through Vulkan, HIP or another interface leaves no trace there,
but it can't do so without loading that interface's library, however short it lives.
"""

from __future__ import annotations

import re
from pathlib import Path

_LOADED = re.compile(r"file=(\S+) \[\d+\];\s+generating link map")
_MAX_BYTES = 8 * 1024 * 1024
_MAX_LIBRARIES = 500

#: Interfaces to a GPU that CUPTI does not see, by the beginning of their library's file name.
UNSEEN_INTERFACES = {
    "libvulkan": "Vulkan",
    "libamdhip64": "HIP",
    "libhsa-runtime64": "ROCm",
    "libOpenCL": "OpenCL",
    "libze_loader": "Level Zero",
    "libsycl": "SYCL",
    "libEGL": "EGL",
    "libGL.": "OpenGL",
    "libGLX": "OpenGL",
}


def linker_environment(folder: Path) -> dict[str, str]:
    """Give the variables that make the dynamic linker write one file a process into `folder`."""
    return {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(folder / "linker")}


def loaded_libraries(folder: Path) -> tuple[str, ...] | None:
    """Give the file names of all loaded libraries, or null where no process left a record."""
    names: set[str] = set()
    seen = False
    budget = _MAX_BYTES
    for path in sorted(folder.glob("linker.*")):
        with path.open("rb") as stream:
            text = stream.read(budget).decode("utf-8", "replace")
        budget -= len(text)
        seen = True
        names.update(Path(match).name for match in _LOADED.findall(text))
        if budget <= 0 or len(names) > _MAX_LIBRARIES:
            return None
    return tuple(sorted(names)) if seen else None


def unseen_interfaces(libraries: tuple[str, ...]) -> tuple[str, ...]:
    """Name the interfaces among these libraries that the tracer can't see."""
    return tuple(
        sorted(
            {name for start, name in UNSEEN_INTERFACES.items() for lib in libraries if lib.startswith(start)}
        )
    )

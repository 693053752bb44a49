"""Loads PTX texts on the real driver: `python -I -S ptx_loader.py TEXTS.json FIRST`, one line of JSON each.

A script of its own: a text that kills the driver's compiler kills this process and no other.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_LOG_BYTES = 16384
_INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE, _VERBOSE = 3, 4, 5, 6, 12


class DriverError(RuntimeError):
    """A driver call that did not return 0."""


class Driver:
    """The few calls of the CUDA driver that loading a module takes."""

    def __init__(self) -> None:
        """Initialise the driver and make a context on the first device."""
        self.cuda: Any = ctypes.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        device = ctypes.c_int()
        self.check("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self.check("cuDeviceGetName", name, 256, device)
        self.device = name.value.decode("utf-8", "replace")
        version = ctypes.c_int()
        self.check("cuDriverGetVersion", ctypes.byref(version))
        self.version = str(version.value)
        context = ctypes.c_void_p()
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.check("cuCtxSetCurrent", context)

    def check(self, call: str, *arguments: object) -> None:
        """Call, and raise what the driver answers."""
        result = getattr(self.cuda, call)(*arguments)
        if result != 0:
            raise DriverError(f"{call} returned {result} ({self.error_name(result)})")

    def error_name(self, result: int) -> str:
        """Give the driver's name of an error."""
        name = ctypes.c_char_p()
        if self.cuda.cuGetErrorName(result, ctypes.byref(name)) != 0 or name.value is None:
            return str(result)
        return name.value.decode("ascii", "replace")

    def load(self, text: str) -> tuple[int, str]:
        """Load one text and unload it again; give the driver's result and log."""
        info, error = ctypes.create_string_buffer(_LOG_BYTES), ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 5)(_INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE, _VERBOSE)
        values = (ctypes.c_void_p * 5)(
            ctypes.addressof(info), _LOG_BYTES, ctypes.addressof(error), _LOG_BYTES, 1
        )
        module = ctypes.c_void_p()
        source = ctypes.c_char_p(text.encode() + b"\0")
        result = int(self.cuda.cuModuleLoadDataEx(ctypes.byref(module), source, 5, options, values))
        if result == 0:
            self.cuda.cuModuleUnload(module)
        log = error.value + info.value if result else info.value
        return result, log.decode("utf-8", "replace")


def main() -> None:
    """Load every text from the given place on."""
    texts = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    try:
        driver = Driver()
    except (OSError, DriverError) as error:
        _say({"driver": str(error)})
        return
    for index in range(int(sys.argv[2]), len(texts)):
        _say({"begins": index})
        result, log = driver.load(texts[index])
        _say(
            {
                "index": index,
                "result": result,
                "error": driver.error_name(result) if result else "",
                "log": log,
                "device": driver.device,
                "version": driver.version,
            }
        )


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

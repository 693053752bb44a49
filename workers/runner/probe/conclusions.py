"""Concludes from readings what can't be done on a machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from workers.protocol.readings import Inability, ProbeReading
from workers.runner.probe.toolkit import find_cupti

RUN_ON_DEVICE = "run on a device"
TRACE = "trace"
BUILD = "build tests"
ASSEMBLE = "assemble PTX offline"

Readings = dict[str, ProbeReading]


def conclude(readings: Sequence[ProbeReading]) -> tuple[Inability, ...]:
    """Give every inability, with the first reading that shows it."""
    by_name = {reading.name: reading for reading in readings}
    return tuple(found for look in _LOOKS if (found := look(by_name)) is not None)


def _run_on_device(readings: Readings) -> Inability | None:
    system = readings["nvml"]
    if not system.succeeded:
        return Inability(RUN_ON_DEVICE, f"NVML answers `{system.output}`", "nvml")
    if system.values["devices"] == "0":
        return Inability(RUN_ON_DEVICE, "NVML lists 0 devices", "nvml")
    library = readings["libcuda"]
    if not library.succeeded:
        return Inability(RUN_ON_DEVICE, f"libcuda.so.1: `{library.output}`", "libcuda")
    return _prohibited(readings)


def _prohibited(readings: Readings) -> Inability | None:
    devices = [reading for name, reading in readings.items() if name.startswith("nvml.device.")]
    modes = [device.values.get("compute_mode") for device in devices]
    if devices and all(mode == "prohibited" for mode in modes):
        return Inability(RUN_ON_DEVICE, "the compute mode of every device is prohibited", devices[0].name)
    return None


def _trace(readings: Readings) -> Inability | None:
    cupti = readings["cupti"]
    if not cupti.succeeded:
        return Inability(TRACE, cupti.output, "cupti")
    driver = readings["nvml"].values.get("cuda_driver")
    if driver is None:
        return None  # there is no device to trace on, which is said already
    if find_cupti(int(driver), json.loads(cupti.output)) is None:
        return Inability(TRACE, f"no CUPTI for a driver of CUDA {driver}", "cupti")
    return None


def _needs(what: str, *names: str) -> Callable[[Readings], Inability | None]:
    def look(readings: Readings) -> Inability | None:
        for name in names:
            reading = readings[name]
            if not reading.succeeded:
                return Inability(what, f"`{reading.command}`: {_first_line(reading)}", name)
        return None

    return look


def _first_line(reading: ProbeReading) -> str:
    return next(iter(reading.output.splitlines()), f"ended with {reading.exit_code}")


_LOOKS: tuple[Callable[[Readings], Inability | None], ...] = (
    _run_on_device,
    _trace,
    _needs(BUILD, "cargo", "rustc"),
    _needs(ASSEMBLE, "ptxas"),
)

"""The whole measurement of a machine: every group of readings, and what they allow to conclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from workers.protocol.readings import Probe, ProbeReading
from workers.runner.probe.conclusions import conclude
from workers.runner.probe.host import host_readings
from workers.runner.probe.nvidia import nvidia_readings
from workers.runner.probe.rust import rust_readings
from workers.runner.probe.toolkit import toolkit_readings

#: Every group of readings, in the order in which they are shown.
GROUPS: tuple[Callable[[Path | None], Iterator[ProbeReading]], ...] = (
    nvidia_readings,
    toolkit_readings,
    rust_readings,
    host_readings,
)


def probe_machine(workspace: Path | None = None) -> Probe:
    """Take every reading; `workspace` is a checkout whose pins and features are read too."""
    readings = tuple(reading for group in GROUPS for reading in group(workspace))
    return Probe(readings=readings, inabilities=conclude(readings))

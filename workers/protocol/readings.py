"""Readings: what a probe measured on a machine, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workers.protocol.codec import MalformedError


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """One measurement: what was asked, what came back.

    `command` is the command line, or `nvml ...`, `read PATH`, `list PATH` where no process is started.
    `exit_code` is null where none could be started (`output` says why). `values` is what was read out of
    `output`; a statement about the machine cites the reading by `name`.
    """

    name: str
    command: str
    output: str
    exit_code: int | None
    started_at: str
    duration_s: float
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether the command ran and ended with 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Inability:
    """Something that can't be done on this machine, with the reading that says so."""

    what: str
    because: str
    reading: str


@dataclass(frozen=True, slots=True)
class Probe:
    """All readings of one machine at one time."""

    readings: tuple[ProbeReading, ...]
    inabilities: tuple[Inability, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an inability without its reading: nothing is assumed."""
        known = {reading.name for reading in self.readings}
        for inability in self.inabilities:
            if inability.reading not in known:
                raise MalformedError(f"inability `{inability.what}` cites no reading `{inability.reading}`")

    def reading(self, name: str) -> ProbeReading | None:
        """Give the reading of that name."""
        return next((reading for reading in self.readings if reading.name == name), None)

    def inability(self, what: str) -> Inability | None:
        """Give what stands against `what` on this machine."""
        return next((inability for inability in self.inabilities if inability.what == what), None)

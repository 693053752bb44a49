"""The constraints that clash where there is no schedule: those of one cause together, however many units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

CLASHES_SHOWN = 25
UNITS_SHOWN = 25
# "`unit` needs somebody" is said of each unit; what follows is the cause.
_OF_A_UNIT = re.compile(r"`(?P<unit>[^`]+)` (?P<cause>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Clash:
    """Constraints that can't all hold, of one unit or of `units` for the same cause."""

    message: str
    constraints: str
    is_proved: bool
    units: tuple[str, ...] = ()
    unit_count: int = 1

    @property
    def units_left_out(self) -> int:
        """How many units are not named."""
        return self.unit_count - len(self.units)


@dataclass(frozen=True, slots=True)
class Clashes:
    """What is shown of them, and how many causes are not."""

    shown: tuple[Clash, ...]
    left_out: int


def clashes_of(conflicts: Iterable[Mapping[str, Any]]) -> Clashes:
    """Gather the stored conflicts of a schedule by their cause, in their order."""
    groups: dict[tuple[str, str, bool], list[tuple[str, Mapping[str, Any]]]] = {}
    for one in conflicts:
        match = _OF_A_UNIT.fullmatch(one["message"])
        unit, cause = (match["unit"], match["cause"]) if match else ("", one["message"])
        groups.setdefault((one["kind"], cause, one["is_proved"]), []).append((unit, one))
    found = [_clash(cause, members) for (_, cause, _), members in groups.items()]
    return Clashes(tuple(found[:CLASHES_SHOWN]), max(0, len(found) - CLASHES_SHOWN))


def _clash(cause: str, members: list[tuple[str, Mapping[str, Any]]]) -> Clash:
    unit, first = members[0]
    if len(members) == 1 or not unit:
        return Clash(first["message"], "; ".join(first["constraints"]), first["is_proved"])
    names = tuple(dict.fromkeys(name for name, _ in members))
    shared = [one for one in first["constraints"] if all(one in other["constraints"] for _, other in members)]
    return Clash(
        f"Each of {len(names)} units {cause}",
        "; ".join(shared),
        first["is_proved"],
        names[:UNITS_SHOWN],
        len(names),
    )

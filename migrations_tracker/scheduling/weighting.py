"""How much the completion of a unit counts, with the reasons shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from migrations_tracker.scheduling.graph import successors_of_all
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.units import WorkUnit


@dataclass(frozen=True, slots=True)
class WeightRates:
    """What each reason counts; people change these for the plan, or in a what-if."""

    base: int = 1
    always_taken: int = 3
    reach: int = 1
    blocks: int = 2


def rates_in_words(rates: WeightRates) -> str:
    """Say what each reason counts."""
    return (
        f"every unit counts {rates.base}, a path that is always taken {rates.always_taken}, "
        f"each doubling of its callers {rates.reach}, a unit that waits for it {rates.blocks}"
    )


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight as the sum of named reasons."""

    parts: tuple[tuple[str, int], ...]

    @property
    def value(self) -> int:
        """The sum."""
        return sum(value for _, value in self.parts)


def weights(
    units: Sequence[WorkUnit],
    items: Mapping[str, OpenItem],
    edges: Iterable[tuple[str, str]],
    rates: WeightRates | None = None,
) -> dict[str, Weight]:
    """Return the weight of each unit: paths always taken, callers (each doubling counts), units that wait.

    The edges must have no cycle.
    """
    counted = rates or WeightRates()
    behind = successors_of_all((unit.key for unit in units), edges)
    return {unit.key: _weight(unit, items, len(behind[unit.key]), counted) for unit in units}


def _weight(unit: WorkUnit, items: Mapping[str, OpenItem], waiting: int, rates: WeightRates) -> Weight:
    members = [items[item_id] for item_id in unit.item_ids if item_id in items]
    always = sum(item.is_always_taken for item in members)
    rejected = sum(item.is_rejected for item in members)
    callers = sum(item.callers for item in members)
    parts = (
        ("every unit", rates.base),
        (f"{_paths(always)} always taken, as the driver refuses the PTX", rates.always_taken * always),
        (f"{_paths(rejected)} beside PTX that the assembler rejects", rates.always_taken * rejected),
        (f"{callers} callers", rates.reach * callers.bit_length()),
        (f"{waiting} units wait for it", rates.blocks * waiting),
    )
    return Weight(tuple(part for part in parts if part[1]))


def _paths(count: int) -> str:
    return f"{count} path" if count == 1 else f"{count} paths"

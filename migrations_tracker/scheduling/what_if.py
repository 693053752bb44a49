"""What would be if: a problem with something changed, and what that was in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from migrations_tracker.scheduling.problem import Person, PhaseOrder, Problem
from migrations_tracker.scheduling.replanning import reweighted, without_units
from migrations_tracker.scheduling.weighting import WeightRates, rates_in_words


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Changes to a problem. `dropped_units` are the units of `dropped_crates`; `weights` replace some, and
    `rates` are what they were reckoned by.
    """

    added_people: tuple[Person, ...] = ()
    dropped_people: frozenset[str] = frozenset()
    dropped_crates: tuple[str, ...] = ()
    dropped_units: frozenset[str] = frozenset()
    weights: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, int] = field(default_factory=dict)
    phase_order: PhaseOrder | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed."""
        return self == WhatIf()


def applied(problem: Problem, change: WhatIf) -> Problem:
    """Return the problem with the change."""
    people = tuple(one for one in problem.people if one.id not in change.dropped_people)
    changed = replace(problem, people=(*people, *change.added_people))
    if change.phase_order is not None:
        changed = replace(changed, phase_order=change.phase_order)
    return reweighted(without_units(changed, change.dropped_units), change.weights)


def in_words(change: WhatIf) -> str:
    """Say what was changed."""
    return " ".join(_sentences(change))


def _sentences(change: WhatIf) -> Iterator[str]:
    for person in change.added_people:
        skills = f" with {', '.join(sorted(person.skills))}" if person.skills else ""
        yield f"`{person.id}` helps{skills}."
    for name in sorted(change.dropped_people):
        yield f"`{name}` is not there."
    for crate in change.dropped_crates:
        yield f"Nothing is done in `{crate}`."
    if change.rates:
        yield f"In the weights, {rates_in_words(WeightRates(**change.rates))}."
    elif change.weights:
        yield f"{len(change.weights)} units have other weights."
    if change.phase_order is PhaseOrder.STRICT:
        yield "A phase starts when those before it have finished."
    elif change.phase_order is PhaseOrder.OVERLAPPING:
        yield "Phases may overlap."

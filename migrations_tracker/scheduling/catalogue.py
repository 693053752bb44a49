"""The planning data of the package: what each rule asks for, and its base rates."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.items import ItemKind, NeedKind, OpenItem


class FixCategory(StrEnum):
    """How deep a fix goes. There is no category for putting it off."""

    ROOT_CAUSE = "A"
    LOCAL_CORRECTNESS = "B"
    ANNOTATION = "C"


@dataclass(frozen=True, slots=True)
class Hours:
    """An estimate as low, likely and high."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def times(self, factor: float) -> Hours:
        """Return all three multiplied."""
        return Hours(self.low * factor, self.likely * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """What a rule asks for by default.

    `outcome_where_computed` is wanted instead where PyTorch computes the operator on the device and the host
    body that stands here is all that users have until its kernel is written.
    """

    outcome: Outcome | None
    category: FixCategory
    reason: str
    phase: int
    is_mechanical: bool
    skills: frozenset[str]
    unit: Hours
    item: Hours
    outcome_where_computed: Outcome | None = None


@dataclass(frozen=True, slots=True)
class NeedPlan:
    """What making a shared thing takes."""

    category: FixCategory
    reason: str
    skills: frozenset[str]
    unit: Hours


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All planning data."""

    rules: Mapping[str, RulePlan]
    needs: Mapping[NeedKind, NeedPlan]
    min_items: int
    max_items: int
    max_mechanical: int
    high_stakes_callers: int
    kernel: Hours
    minimum_hours: float
    verification_hours: float
    labels: frozenset[str]

    def plan_of(self, item: OpenItem) -> RulePlan:
        """Return what an item's rule asks for; a gap has a plan of its own, whatever rule showed it."""
        return self.rules["capability-gap" if item.kind is ItemKind.GAP else item.rule]

    def outcome_of(self, item: OpenItem) -> Outcome | None:
        """Return the outcome wanted for an item."""
        return item.outcome if item.outcome is not None else self.plan_of(item).outcome

    def is_mechanical(self, item: OpenItem) -> bool:
        """Whether the edit is the same as its neighbours': never where device code is written."""
        written = (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE)
        return self.plan_of(item).is_mechanical and self.outcome_of(item) not in written


def read_catalogue(text: str) -> Catalogue:
    """Read planning data from TOML."""
    data = tomllib.loads(text)
    defaults = data["defaults"]
    return Catalogue(
        rules={name: _rule(entry) for name, entry in data["rules"].items()},
        needs={NeedKind(name): _need(entry) for name, entry in data["needs"].items()},
        min_items=defaults["min_items"],
        max_items=defaults["max_items"],
        max_mechanical=defaults["max_mechanical"],
        high_stakes_callers=defaults["high_stakes_callers"],
        kernel=Hours(*defaults["kernel_hours"]),
        minimum_hours=defaults["minimum_hours"],
        verification_hours=defaults["verification_hours"],
        labels=frozenset(defaults["labels"]),
    )


def _rule(entry: Mapping[str, Any]) -> RulePlan:
    return RulePlan(
        outcome=Outcome(entry["outcome"]) if "outcome" in entry else None,
        category=FixCategory(entry["category"]),
        reason=entry["reason"],
        phase=entry["phase"],
        is_mechanical=entry["mechanical"],
        skills=frozenset(entry["skills"]),
        unit=Hours(*entry["unit"]),
        item=Hours(*entry["item"]),
        outcome_where_computed=(
            Outcome(entry["outcome_where_computed"]) if "outcome_where_computed" in entry else None
        ),
    )


def _need(entry: Mapping[str, Any]) -> NeedPlan:
    return NeedPlan(
        FixCategory(entry["category"]), entry["reason"], frozenset(entry["skills"]), Hours(*entry["unit"])
    )


@cache
def default_catalogue() -> Catalogue:
    """Return the package's own planning data."""
    return read_catalogue(resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8"))

"""Finding rulings that were made on the like, and those that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from django.db.models import QuerySet

from audit.knowledge.likeness import likeness
from audit.models import Precedent, PrecedentKind

ALIKE_FROM = 0.6
# Code this alike shares at least one of its sixteen smallest hashes, all but surely.
PROBED = 16
COMPARED_AT_MOST = 2_000
CONTRADICTIONS_AT_MOST = 200
_LEAVES = frozenset({PrecedentKind.SUPPRESSED.value, PrecedentKind.NOT_A_SITE.value})
_TAKES = frozenset({PrecedentKind.ACCEPTED.value, PrecedentKind.CATEGORY.value})


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two rulings in force on the like that say different things; `alike` is from 0 to 1."""

    one: Precedent
    other: Precedent
    alike: float

    @property
    def percent(self) -> int:
        """How alike the code is."""
        return round(self.alike * 100)


def contradict(one: Precedent, other: Precedent) -> bool:
    """Tell whether two rulings can't both be right for the same code."""
    if one.kind == other.kind:
        return one.decision != other.decision
    kinds = {one.kind, other.kind}
    return bool(kinds & _LEAVES) and bool(
        kinds & {PrecedentKind.ACCEPTED.value, PrecedentKind.CATEGORY.value}
    )


def contradictions(*, precedents: QuerySet[Precedent]) -> list[Contradiction]:
    """List the rulings in force that contradict each other: same rule and form, and similar code."""
    in_force = precedents.filter(ended_at=None).select_related("decided_by")
    groups: dict[tuple[str, str], list[Precedent]] = {}
    for precedent in in_force.order_by("-pk")[:COMPARED_AT_MOST]:
        groups.setdefault((precedent.rule_id, precedent.form), []).append(precedent)
    found = list(_pairs(groups.values()))
    found.sort(key=lambda pair: (-pair.alike, -pair.one.pk, -pair.other.pk))
    return found[:CONTRADICTIONS_AT_MOST]


def _pairs(groups: Iterable[Sequence[Precedent]]) -> Iterator[Contradiction]:
    for group in groups:
        seen: set[tuple[int, int]] = set()
        for bucket in _alike(group):
            for one, other in combinations(bucket, 2):
                if (one.pk, other.pk) in seen or one.site_id == other.site_id or not contradict(one, other):
                    continue
                seen.add((one.pk, other.pk))
                alike = likeness(one.shingles, other.shingles)
                if alike >= ALIKE_FROM:
                    yield Contradiction(one, other, alike)


def _alike(group: Sequence[Precedent]) -> Iterator[Sequence[Precedent]]:
    """Yield those that share a hash which similar code shares, and that were not all ruled the same."""
    buckets: dict[int, list[Precedent]] = {}
    for precedent in group:
        for shingle in sorted(precedent.shingles)[:PROBED]:
            buckets.setdefault(shingle, []).append(precedent)
    for bucket in buckets.values():
        if len({(precedent.kind, precedent.decision) for precedent in bucket}) > 1:
            yield bucket

"""Finding rulings that were made on the like, and those that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

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


class Ruled(NamedTuple):
    """As much of a ruling as is compared."""

    pk: int
    site_id: int
    kind: str
    decision: str
    shingles: Sequence[int]


def contradict(one: Ruled | Precedent, other: Ruled | Precedent) -> bool:
    """Tell whether two rulings can't both be right for the same code."""
    if one.kind == other.kind:
        return one.decision != other.decision
    kinds = {one.kind, other.kind}
    return bool(kinds & _LEAVES) and bool(kinds & _TAKES)


def contradictions(*, precedents: QuerySet[Precedent]) -> list[Contradiction]:
    """List the rulings in force that contradict each other: same rule and form, and similar code."""
    in_force = precedents.filter(ended_at=None).order_by("-pk")
    groups: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
    for pk, rule_id, form, kind, decision in in_force.values_list(
        "pk", "rule_id", "form", "kind", "decision"
    )[:COMPARED_AT_MOST]:
        groups.setdefault((rule_id, form), {})[pk] = (kind, decision)
    # Where all of a rule and form were ruled alike, nothing more of them is read.
    differing = [group for group in groups.values() if len(set(group.values())) > 1]
    rows = precedents.filter(pk__in=[pk for group in differing for pk in group])
    read = {row[0]: Ruled(*row) for row in rows.values_list("pk", "site_id", "kind", "decision", "shingles")}
    found = [pair for group in differing for pair in _pairs([read[pk] for pk in group if pk in read])]
    found.sort(key=lambda pair: (-pair[2], -pair[0], -pair[1]))
    shown = found[:CONTRADICTIONS_AT_MOST]
    whole = precedents.select_related("decided_by").in_bulk({pk for pair in shown for pk in pair[:2]})
    return [
        Contradiction(whole[one], whole[other], share)
        for one, other, share in shown
        if one in whole and other in whole
    ]


def _pairs(group: Sequence[Ruled]) -> Iterator[tuple[int, int, float]]:
    """Yield the keys of two rulings that contradict each other, and how alike their code is."""
    seen: set[tuple[int, int]] = set()
    for bucket in _alike(group):
        for one, other in combinations(bucket, 2):
            if (one.pk, other.pk) in seen or one.site_id == other.site_id or not contradict(one, other):
                continue
            seen.add((one.pk, other.pk))
            alike = likeness(one.shingles, other.shingles)
            if alike >= ALIKE_FROM:
                yield one.pk, other.pk, alike


def _alike(group: Sequence[Ruled]) -> Iterator[Sequence[Ruled]]:
    """Yield those that share a hash which similar code shares, and that were not all ruled the same."""
    buckets: dict[int, list[Ruled]] = {}
    for ruled in group:
        for shingle in sorted(ruled.shingles)[:PROBED]:
            buckets.setdefault(shingle, []).append(ruled)
    for bucket in buckets.values():
        if len({(ruled.kind, ruled.decision) for ruled in bucket}) > 1:
            yield bucket

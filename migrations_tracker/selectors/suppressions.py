"""What is suppressed in a repository, what was asked for, and what has ended."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.db.models import Count, Q, QuerySet

from audit.models import CapabilityGap, FallbackSite, Repository
from migrations_tracker.models import Suppression, SuppressionStatus

PAGE_SIZE = 50


class Standing(StrEnum):
    """How far a suppression is."""

    ASKED = "asked"
    IN_FORCE = "in-force"
    ENDED = "ended"


STANDING_LABELS = {
    Standing.ASKED: "Asked for",
    Standing.IN_FORCE: "In force",
    Standing.ENDED: "Ended or rejected",
}
_SELECTED = {
    Standing.ASKED: Q(ended_at=None, status=SuppressionStatus.UNDER_REVIEW),
    Standing.IN_FORCE: Q(ended_at=None, status=SuppressionStatus.ACCEPTED),
    Standing.ENDED: Q(ended_at__isnull=False),
}


def _suppressions_of(*, repository: Repository, standing: Standing) -> QuerySet[Suppression]:
    """Select a repository's suppressions, the newest first."""
    return _all_of(repository).filter(_SELECTED[standing]).order_by("-pk")


def _all_of(repository: Repository) -> QuerySet[Suppression]:
    return Suppression.objects.filter(Q(site__repository=repository) | Q(gap__repository=repository))


def suppression_list(
    *, repository: Repository, standing: Standing, before: int = 0, size: int = PAGE_SIZE
) -> Sequence[Suppression]:
    """List a page of them; one more than `size` where there are more."""
    found = _suppressions_of(repository=repository, standing=standing).select_related(
        "site", "gap", "requested_by", "decided_by"
    )
    return list((found.filter(pk__lt=before) if before else found)[: size + 1])


def suppression_counts(*, repository: Repository) -> dict[Standing, int]:
    """Count a repository's suppressions by how far they are; what has none counts 0."""
    counted = {one.name: Count("pk", filter=chosen) for one, chosen in _SELECTED.items()}
    counts = _all_of(repository).aggregate(**counted)
    return {one: counts[one.name] for one in Standing}


def suppression_newest(*, subject: FallbackSite | CapabilityGap) -> Suppression | None:
    """Return the one that counts for a site or a gap, else the last that ended."""
    name = "gap" if isinstance(subject, CapabilityGap) else "site"
    found = Suppression.objects.filter(**{name: subject}).select_related("requested_by", "decided_by")
    return found.first()

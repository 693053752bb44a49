"""Beginning and ending suppressions."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models.functions import Now

from audit.models import FallbackSite
from migrations_tracker.models import Suppression, SuppressionStatus


def suppression_start(*, site: FallbackSite, justification: str, actor: User) -> Suppression:
    """Rule that a site stays as it is."""
    return Suppression.objects.create(
        site=site,
        status=SuppressionStatus.ACCEPTED,
        justification=justification,
        requested_by=actor,
        decided_by=actor,
    )


def suppression_end(*, sites: Sequence[int], because: str) -> int:
    """End the suppressions in force on `sites`; return how many there were."""
    in_force = Suppression.objects.filter(site__in=sites, ended_at=None)
    return in_force.update(ended_at=Now(), ended_because=because)

"""Beginning and ending suppressions."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Now

from audit.models import CapabilityGap, FallbackSite
from audit.services.copying import ids_among
from migrations_tracker.models import Suppression, SuppressionStatus


def suppression_start(
    *, subject: FallbackSite | CapabilityGap, justification: str, actor: User
) -> Suppression:
    """Rule that a site or a gap stays as it is."""
    return Suppression.objects.create(
        site=subject if isinstance(subject, FallbackSite) else None,
        gap=subject if isinstance(subject, CapabilityGap) else None,
        status=SuppressionStatus.ACCEPTED,
        justification=justification,
        requested_by=actor,
        decided_by=actor,
    )


def suppression_end(*, sites: Sequence[int] = (), gaps: Sequence[int] = (), because: str) -> int:
    """End the suppressions in force on `sites` and `gaps`; return how many there were."""
    in_force = Suppression.objects.filter(
        Q(site__in=ids_among(sites)) | Q(gap__in=ids_among(gaps)), ended_at=None
    )
    return in_force.update(ended_at=Now(), ended_because=because)

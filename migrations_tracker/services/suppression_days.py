"""Suppressions whose last day is over: what they held is open again."""

from __future__ import annotations

from datetime import date

from django.db import transaction
from django.utils import timezone

from audit.models import PrecedentKind
from audit.services.precedents import precedents_end
from migrations_tracker.lifecycle import Cause, Situation, Status, check
from migrations_tracker.models import SiteMigration, Suppression, Transition
from migrations_tracker.services.migration_locks import version_next

EXPIRED = "Its last day is over."
_AT_ONCE = 500


def suppressions_expire(*, today: date | None = None) -> int:
    """End what lasted until a day before `today`, and open what it held; return how many ended."""
    today = today or timezone.localdate()
    ended = 0
    while keys := list(
        Suppression.objects.filter(ended_at=None, expires_on__lt=today).values_list("pk", flat=True)[
            :_AT_ONCE
        ]
    ):
        for pk in keys:
            with transaction.atomic():
                ended += _expire(pk, today)
    return ended


def _expire(pk: int, today: date) -> int:
    found = Suppression.objects.get(pk=pk)
    # The migration first, as whoever moves it by hand takes it: two in another order would wait for ever.
    held = SiteMigration.objects.select_for_update().filter(site=found.site_id, gap=found.gap_id).first()
    over = Suppression.objects.select_for_update().get(pk=pk)
    if over.ended_at is not None or over.expires_on is None or over.expires_on >= today:
        return 0
    is_in_force = over.is_in_force
    if held is not None:
        version_next(migration=held)
    over.ended_at, over.ended_because = timezone.now(), EXPIRED
    over.save(update_fields=["ended_at", "ended_because"])
    if is_in_force and held is not None and held.status == Status.SUPPRESSED.value:
        check(
            Status.SUPPRESSED,
            Status.OPEN,
            Cause.CALENDAR,
            Situation(has_reason=True, is_seen_by_scanner=True, has_fitting_verdict=False),
        )
        held.status = Status.OPEN.value
        held.save(update_fields=["status"])
        Transition.objects.create(
            site_migration=held,
            from_status=Status.SUPPRESSED.value,
            to_status=Status.OPEN.value,
            cause=Cause.CALENDAR.value,
            reason=f"It was suppressed until {over.expires_on}: {over.justification}",
        )
        if over.site is not None:
            precedents_end(site=over.site, kinds=[PrecedentKind.SUPPRESSED], because=EXPIRED)
    return 1

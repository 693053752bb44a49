"""Running device tests by the clock: set for a repository, and asked for once a day."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from audit.errors import AuditError
from audit.models import Repository
from migrations_tracker.services.verifications import verification_ask
from workers.errors import MachineryError
from workers.models import NightlyVerification, RequestTarget

log = logging.getLogger(__name__)


def nightly_set(*, repository: Repository, is_on: bool, hour: int) -> NightlyVerification:
    """Set whether a repository's device tests run each day, and from which hour on."""
    if not 0 <= hour <= 23:
        raise MachineryError("An hour is a number from 0 to 23.")
    nightly, _ = NightlyVerification.objects.update_or_create(
        repository=repository, defaults={"is_on": is_on, "hour": hour}
    )
    return nightly


def nightlies_ask(*, now: datetime | None = None) -> int:
    """Ask for what is due; return how many were asked for. Asked twice within a day, it asks once."""
    now = now or timezone.now()
    today = now.date()
    due = NightlyVerification.objects.filter(is_on=True, hour__lte=now.hour).filter(
        Q(asked_on=None) | Q(asked_on__lt=today)
    )
    count = 0
    for nightly in due.select_related("repository"):
        with transaction.atomic():
            taken = NightlyVerification.objects.filter(pk=nightly.pk).filter(
                Q(asked_on=None) | Q(asked_on__lt=today)
            )
            if not taken.update(asked_on=today, failure_reason=""):
                continue
            try:
                verification_ask(
                    repository=nightly.repository,
                    target=RequestTarget.COMMIT,
                    actor=None,
                    is_nightly=True,
                )
            except (MachineryError, AuditError) as error:
                log.warning("nightly verification of %s: %s", nightly.repository, error)
                NightlyVerification.objects.filter(pk=nightly.pk).update(failure_reason=str(error))
            else:
                count += 1
    return count

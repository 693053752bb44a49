"""Suppressions: asked for, ruled about, given a last day, and ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pghistory
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from audit.models import CapabilityGap
from audit.selectors.sites import site_is_open
from audit.services.copying import ids_among
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import Cause, Situation, Status, check
from migrations_tracker.models import Suppression, SuppressionStatus
from migrations_tracker.services.migration_locks import Subject, column_of, migration_lock, version_next

LAST_DAY = date(2099, 12, 31)


def suppression_ask(
    *, subject: Subject, justification: str, actor: User, expires_on: date | None = None
) -> Suppression:
    """Ask that a site or a gap stays as it is: nothing is suppressed until a lead has accepted.

    Raises PlanError without a reason, for a day that is over, and where one is asked for or in force already.
    Raises TransitionNotAllowedError where a lead could not suppress either, as what the scanner does not see.
    """
    justification = _reason(justification)
    day_check(expires_on)
    with transaction.atomic(), pghistory.context(user=actor.pk):
        migration = migration_lock(subject=subject)
        there = _in_force(subject)
        if there is not None:
            how = "asked for" if there.is_asked_for else "in force"
            raise PlanError(f"A suppression is {how} already: {there.justification}")
        situation = Situation(
            has_reason=True, is_seen_by_scanner=_is_seen(subject), has_fitting_verdict=False
        )
        check(Status(migration.status), Status.SUPPRESSED, Cause.PERSON, situation)
        version_next(migration=migration)
        return Suppression.objects.create(
            **column_of(subject),
            status=SuppressionStatus.UNDER_REVIEW,
            justification=justification,
            requested_because=justification,
            expires_on=expires_on,
            requested_by=actor,
        )


def suppression_start(
    *, subject: Subject, justification: str, actor: User, expires_on: date | None = None
) -> Suppression:
    """Rule that a site or a gap stays as it is; where somebody asked for that, the ruling answers it.

    Without a day of its own, the ruling holds until the day that was asked for, if any. What the asker wrote
    is kept beside the lead's reason.
    """
    asked = _in_force(subject, is_locked=True)
    if asked is None:
        return Suppression.objects.create(
            **column_of(subject),
            status=SuppressionStatus.ACCEPTED,
            justification=justification,
            expires_on=expires_on,
            requested_by=actor,
            decided_by=actor,
        )
    asked.status = SuppressionStatus.ACCEPTED
    asked.justification = justification
    asked.expires_on = expires_on or asked.expires_on
    asked.decided_by = actor
    asked.save(update_fields=["status", "justification", "expires_on", "decided_by"])
    return asked


def suppression_reject(
    *, subject: Subject, reason: str, actor: User, seen_version: int | None = None
) -> Suppression:
    """Refuse what was asked for, with a reason: it stays listed, and what it was about stays open.

    `seen_version` is the migration's when the question was read; another that was asked since is not refused.
    """
    reason = _reason(reason)
    with transaction.atomic(), pghistory.context(user=actor.pk):
        asked = _asked(subject, seen_version)
        asked.status = SuppressionStatus.REJECTED
        asked.decided_by = actor
        asked.ended_at = timezone.now()
        asked.ended_because = reason
        asked.save(update_fields=["status", "decided_by", "ended_at", "ended_because"])
    return asked


def suppression_withdraw(*, subject: Subject, actor: User) -> Suppression:
    """Take a question back: who asked may, before anybody has ruled."""
    with transaction.atomic(), pghistory.context(user=actor.pk):
        asked = _asked(subject)
        if asked.requested_by_id != actor.pk:
            raise PlanError(
                f"{asked.requested_by} asked for it: they can take it back, or a lead rejects it."
            )
        asked.ended_at = timezone.now()
        asked.ended_because = "Whoever asked took it back."
        asked.save(update_fields=["ended_at", "ended_because"])
    return asked


def suppression_end(*, sites: Sequence[int] = (), gaps: Sequence[int] = (), because: str) -> int:
    """End the suppressions in force and asked for on `sites` and `gaps`; return how many there were."""
    in_force = Suppression.objects.filter(
        Q(site__in=ids_among(sites)) | Q(gap__in=ids_among(gaps)), ended_at=None
    )
    return in_force.update(ended_at=Now(), ended_because=because)


def day_check(expires_on: date | None) -> None:
    """Raise PlanError for a last day that is over or beyond all plans."""
    if expires_on is not None and not timezone.localdate() <= expires_on <= LAST_DAY:
        raise PlanError(f"A suppression lasts until today or a later day, at most {LAST_DAY}.")


def _reason(text: str) -> str:
    text = text.replace("\0", "").strip()
    if not text:
        raise PlanError("Say why: a suppression is kept with its reason.")
    return text


def _is_seen(subject: Subject) -> bool:
    if isinstance(subject, CapabilityGap):
        return CapabilityGap.objects.filter(pk=subject.pk, is_open=True).exists()
    return site_is_open(site=subject)


def _in_force(subject: Subject, *, is_locked: bool = False) -> Suppression | None:
    there = Suppression.objects.filter(**column_of(subject), ended_at=None)
    return (there.select_for_update() if is_locked else there).first()


def _asked(subject: Subject, seen_version: int | None = None) -> Suppression:
    """Return the question that is to be answered, and have whoever else looks at it notice the answer."""
    migration = migration_lock(subject=subject)
    asked = _in_force(subject, is_locked=True)
    if asked is None or not asked.is_asked_for:
        raise ChangedMeanwhileError("Nothing is asked for here: it was taken back, or a lead has ruled.")
    if seen_version is not None and seen_version != migration.version:
        raise ChangedMeanwhileError(
            "Something has changed while you looked at it. This is what is asked for now: look again, then "
            "decide."
        )
    version_next(migration=migration)
    return asked

"""Correcting what an operation is in PyTorch, and deriving the capabilities that follow."""

from __future__ import annotations

from datetime import timedelta

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit.models import CapabilityReading, MatchRuling, OperationMatch, Repository
from audit.parity.catalogue import Direction
from audit.parity.matching import Verdict
from audit.services.matches import match_ruling_set, match_ruling_withdraw
from audit.services.rederiving import capabilities_ask_again

CAPABILITIES_TASK = "migrations_tracker.tasks.scan_capabilities_rederive"
LOST_AFTER = timedelta(minutes=2)


def match_rule(
    *,
    match: OperationMatch,
    verdict: Verdict,
    counterpart: str = "",
    direction: Direction = Direction.FORWARD,
    dtype: str = "",
    reason: str,
    actor: User,
    seen: int | None = None,
) -> MatchRuling:
    """Rule what an operation is in PyTorch, and ask for the capabilities to be derived again.

    `seen` is the ruling that the person saw in force, 0 for none.
    """
    with transaction.atomic():
        ruling = match_ruling_set(
            match=match,
            verdict=verdict,
            counterpart=counterpart,
            direction=direction,
            dtype=dtype,
            reason=reason,
            actor=actor,
            seen=seen,
        )
        _ask_again(match.repository)
    return ruling


def match_unrule(*, match: OperationMatch, actor: User, seen: int | None = None) -> None:
    """Withdraw the ruling about an operation, and ask for the capabilities to be derived again."""
    with transaction.atomic():
        if match_ruling_withdraw(match=match, actor=actor, seen=seen):
            _ask_again(match.repository)


def readings_wake_lost() -> int:
    """Send again the capabilities that nobody derived yet; return how many were sent."""
    waiting = CapabilityReading.objects.filter(asked_again_at__lt=timezone.now() - LOST_AFTER)
    scans = list(waiting.values_list("scan_run_id", flat=True))
    for pk in scans:
        _send(pk)
    return len(scans)


def _ask_again(repository: Repository) -> None:
    scan_run_id = capabilities_ask_again(repository=repository)
    if scan_run_id is not None:
        transaction.on_commit(lambda: _send(scan_run_id), robust=True)


def _send(scan_run_id: int) -> None:
    current_app.send_task(CAPABILITIES_TASK, kwargs={"pk": scan_run_id})

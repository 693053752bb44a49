"""Deriving the capabilities of a commit again, because somebody corrected what an operation is."""

from __future__ import annotations

import logging
from typing import Protocol

from django.db import transaction
from django.db.models.functions import Now

from audit.errors import AuditError
from audit.models import Branch, CapabilityReading, Repository, ScanRun
from audit.scanner.errors import ScanError
from audit.services import scanning
from audit.services.capabilities import capabilities_store
from audit.services.gaps import GapChanges, capability_gaps_follow
from audit.services.repository_lock import repository_lock

_log = logging.getLogger(__name__)


class AfterDeriving(Protocol):
    """What follows for the plan, in the same transaction."""

    def __call__(self, *, scan_run: ScanRun, changes: GapChanges) -> None: ...


def capabilities_ask_again(*, repository: Repository) -> int | None:
    """Note that the capabilities of the default branch's last scan are to be derived again.

    Returns the scan, or nothing where none has any.
    """
    branch = Branch.objects.filter(repository=repository, name=repository.default_branch).first()
    if branch is None or branch.last_scan_id is None:
        return None
    readings = CapabilityReading.objects.filter(scan_run_id=branch.last_scan_id)
    return branch.last_scan_id if readings.update(asked_again_at=Now()) else None


def capabilities_rederive(*, scan_run_id: int, after: AfterDeriving) -> bool:
    """Derive the capabilities of a scan again and store them in place of those it has.

    A tree that can't be read any more leaves them as they are. Returns whether this call stored any.
    """
    reading = CapabilityReading.objects.filter(scan_run_id=scan_run_id, asked_again_at__isnull=False).first()
    if reading is None:
        return False
    scan_run = ScanRun.objects.select_related("repository", "commit", "branch").get(pk=scan_run_id)
    answered = CapabilityReading.objects.filter(pk=reading.pk, asked_again_at=reading.asked_again_at)
    try:
        scanned = scanning.commit_derive(scan_run=scan_run)
    except (AuditError, ScanError):
        _log.exception("The capabilities of scan %s were not derived again", scan_run_id)
        answered.update(asked_again_at=None)
        return False
    report, capabilities = scanned.report, scanned.capabilities
    with transaction.atomic():
        repository_lock(repository_id=scan_run.repository_id)
        answered.update(asked_again_at=None)
        capabilities_store(scan_run=scan_run, report=report, capabilities=capabilities)
        if _speaks_for_gaps(scan_run):
            changes = capability_gaps_follow(
                scan_run=scan_run, report=report, capabilities=capabilities, is_same_code=True
            )
            after(scan_run=scan_run, changes=changes)
    return True


def _speaks_for_gaps(scan_run: ScanRun) -> bool:
    """Whether the scan is still the last one of the default branch."""
    return Branch.objects.filter(
        repository_id=scan_run.repository_id, name=scan_run.repository.default_branch, last_scan=scan_run
    ).exists()

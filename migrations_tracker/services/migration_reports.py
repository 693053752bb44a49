"""Asking for migration reports, and writing them."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.db import OperationalError, transaction

from audit.errors import LeaseLostError
from audit.models import Branch, RowState, ScanRun
from audit.selectors.branch_periods import position_of
from audit.services.leases import lease_claim, lease_fail, lease_finish, lease_kept
from audit.services.repository_lock import repository_lock
from migrations_tracker.errors import PlanError
from migrations_tracker.models import MigrationReport
from migrations_tracker.reports.document import document_digest, document_head
from migrations_tracker.selectors.report_facts import report_facts
from workers.protocol.codec import to_json


def report_create(*, branch: Branch, since: ScanRun | None, actor: User | None) -> MigrationReport:
    """Ask for a report of a branch as it is now. Raises `PlanError` where there is nothing to report on."""
    if branch.last_scan is None:
        raise PlanError(f"{branch.name} has no finished scan yet: a report tells of scans.")
    if since is not None and not 0 < position_of(branch=branch, scan_run=since) < position_of(
        branch=branch, scan_run=branch.last_scan
    ):
        raise PlanError(f"Scan #{since.pk} is no earlier scan of {branch.name}.")
    if since is not None and since.state != RowState.SUCCEEDED:
        raise PlanError(f"Scan #{since.pk} stored nothing: choose one that succeeded.")
    return MigrationReport.objects.create(
        branch=branch, scan_run=branch.last_scan, since_scan=since, requested_by=actor
    )


def report_execute(*, pk: int) -> bool:
    """Write a report that waits. Returns whether this call wrote it."""
    lease_id = lease_claim(model=MigrationReport, pk=pk)
    if lease_id is None:
        return False
    report = MigrationReport.objects.get(pk=pk)
    try:
        with lease_kept(row=report, lease_id=lease_id):
            _write(report, lease_id)
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the report back.
        raise
    except Exception as error:
        lease_fail(
            row=report,
            lease_id=lease_id,
            reason=f"Writing the report broke down: {type(error).__name__}: {error}",
        )
        raise
    return True


def _write(report: MigrationReport, lease_id: uuid.UUID) -> None:
    with transaction.atomic():
        # No scan is stored meanwhile: all numbers are of one moment, and of the scan that is named.
        repository_lock(repository_id=report.branch.repository_id)
        branch = Branch.objects.select_related("repository", "last_scan__commit").get(pk=report.branch_id)
        report.branch = branch
        if branch.last_scan is not None:
            report.scan_run = branch.last_scan
        document = report_facts(report=report)
        lease_finish(
            row=report,
            lease_id=lease_id,
            state=RowState.SUCCEEDED,
            scan_run=report.scan_run,
            document=to_json(document),
            head=to_json(document_head(document)),
            digest=document_digest(document),
        )

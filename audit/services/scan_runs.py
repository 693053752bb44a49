"""Running scans."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import OperationalError, connection

from audit.errors import AuditError, LeaseLostError
from audit.models import ScanRun
from audit.scanner.errors import ScanError
from audit.scanner.report import Progress
from audit.services import scanning
from audit.services.capabilities import capabilities_store
from audit.services.extraction import TellWorkers
from audit.services.gaps import capability_gaps_follow
from audit.services.ingest import IngestSummary, scan_report_ingest
from audit.services.inventories import inventory_store
from audit.services.leases import (
    LEASE,
    Heartbeat,
    lease_cancel,
    lease_claim,
    lease_fail,
    lease_kept,
)
from audit.services.matches import matches_store

AfterIngest = Callable[[IngestSummary], None]


def scan_run_execute(
    *, pk: int, after_ingest: AfterIngest, lease: timedelta = LEASE, tell: TellWorkers | None = None
) -> bool:
    """Run a waiting scan, or one whose worker was lost, and store what it found.

    `after_ingest` runs in the transaction that stores the results; `tell` lets other workers know of parts
    that they may parse. Returns whether this call stored the results.
    """
    lease_id = lease_claim(model=ScanRun, pk=pk, lease=lease)
    if lease_id is None:
        return False
    scan_run = ScanRun.objects.select_related("repository", "commit", "branch").get(pk=pk)
    try:
        with lease_kept(row=scan_run, lease_id=lease_id, lease=lease) as heartbeat:
            scanned = _scan(scan_run, heartbeat, tell)
            # Unused while the scanner worked, the connection may be of a database that was started anew.
            connection.close_if_unusable_or_obsolete()
            heartbeat.note(phase="ingest", done=0, total=len(scanned.report.results))
            _store(scan_run, lease_id, scanned, after_ingest)
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the scan back.
        raise
    except (AuditError, ScanError) as error:
        lease_fail(row=scan_run, lease_id=lease_id, reason=str(error))
        return False
    except Exception as error:
        lease_fail(
            row=scan_run, lease_id=lease_id, reason=f"The scanner broke down: {type(error).__name__}: {error}"
        )
        raise
    return True


def scan_run_cancel(*, scan_run: ScanRun, actor: User) -> bool:
    """Stop a scan that waits or runs; its worker notices at its next step. False when it was over."""
    return lease_cancel(row=scan_run, actor=actor)


def _store(
    scan_run: ScanRun, lease_id: uuid.UUID, scanned: scanning.Scanned, after_ingest: AfterIngest
) -> None:
    """Store results and capabilities in one transaction."""
    report, capabilities = scanned.report, scanned.capabilities

    def with_capabilities(summary: IngestSummary) -> None:
        capabilities_store(scan_run=scan_run, report=report, capabilities=capabilities)
        inventory_store(
            scan_run=scan_run, report=report, capabilities=capabilities, inventory=scanned.inventory
        )
        branch = summary.branch
        if branch is not None and branch.name == scan_run.repository.default_branch:
            if not capabilities.failure_reason:
                matches_store(scan_run=scan_run, matches=capabilities.matches)
            gaps = capability_gaps_follow(scan_run=scan_run, report=report, capabilities=capabilities)
            summary = dataclasses.replace(summary, gaps=gaps)
        after_ingest(summary)

    scan_report_ingest(scan_run=scan_run, lease_id=lease_id, report=report, after_ingest=with_capabilities)


def _scan(scan_run: ScanRun, heartbeat: Heartbeat, tell: TellWorkers | None) -> scanning.Scanned:
    judge = scanning.judge_current(repository=scan_run.repository, commit=scan_run.commit)
    if not scanning.is_judged_by(scan_run=scan_run, judge=judge):
        raise AuditError(
            f"The scan was asked of scanner {scan_run.scanner_version} and profile {scan_run.profile_name}. "
            f"This worker has scanner {judge.scanner_version}, or the profile changed. Ask for a new scan."
        )

    def note(progress: Progress) -> None:
        heartbeat.note(phase=progress.phase, done=progress.done, total=progress.total)

    scanned = scanning.commit_scan(scan_run=scan_run, progress=note, tell=tell)
    if scan_run.commit.is_snapshot:
        scanning.snapshot_check(scan_run=scan_run)
    return scanned

"""Asking for scans, and waking the worker that runs them."""

from __future__ import annotations

from collections.abc import Sequence

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from audit.models import (
    AskedBy,
    LeasedRow,
    PullRequestCheck,
    Repository,
    RepositoryKind,
    RowState,
    ScanChunk,
    ScanRequest,
    ScanRun,
)
from audit.services.leases import lease_give_up_lost, lease_wake
from audit.services.scan_requests import (
    commit_locate,
    follow_request_create,
    revision_check,
    scan_request_create,
    scan_run_request,
)
from migrations_tracker.models import BulkChange, Delivery, MigrationReport, ReportMail, Schedule
from workers.models import MechanicalReport, VerificationRequest

SCAN_RUN_TASK = "migrations_tracker.tasks.scan_run_execute"
SCAN_REQUEST_TASK = "migrations_tracker.tasks.scan_request_execute"
PULL_REQUEST_TASK = "migrations_tracker.tasks.scan_pull_request_check"
MECHANICAL_REPORT_TASK = "migrations_tracker.tasks.verification_report_execute"
VERIFICATION_REQUEST_TASK = "migrations_tracker.tasks.verification_request_execute"
SCAN_CHUNK_TASK = "migrations_tracker.tasks.scan_chunk_execute"
# Sooner or later the scan's own worker has parsed it.
CHUNK_LIVES_SECONDS = 300
DELIVERY_TASK = "migrations_tracker.tasks.delivery_execute"
REPORT_MAIL_TASK = "migrations_tracker.tasks.report_mail_execute"
REPORT_TASK = "migrations_tracker.tasks.report_execute"
BULK_TASK = "migrations_tracker.tasks.bulk_change_execute"
SCHEDULE_TASK = "migrations_tracker.tasks.schedule_execute"
_TASKS: tuple[tuple[type[LeasedRow], str], ...] = (
    (ScanRequest, SCAN_REQUEST_TASK),
    (ScanRun, SCAN_RUN_TASK),
    (PullRequestCheck, PULL_REQUEST_TASK),
    (VerificationRequest, VERIFICATION_REQUEST_TASK),
    (MechanicalReport, MECHANICAL_REPORT_TASK),
    (MigrationReport, REPORT_TASK),
    (ReportMail, REPORT_MAIL_TASK),
    (Delivery, DELIVERY_TASK),
    (Schedule, SCHEDULE_TASK),
    (BulkChange, BULK_TASK),
)


def scan_ask(
    *,
    repository: Repository,
    revision: str = "",
    actor: User | None,
    asked_by: AskedBy = AskedBy.PERSON,
    may_read_folder: bool = True,
) -> ScanRun | ScanRequest:
    """Ask for a scan of a revision, or of the default branch, or of a plain folder as it is.

    What is on this machine is looked up at once, and what is wrong with the revision is raised here. What
    has to be fetched first becomes a request that the worker turns into the scan; so does a plain folder
    unless the caller `may_read_folder`: its state is known only when all of it was read.
    """
    revision = revision_check(repository=repository, revision=revision)
    is_slow = repository.kind == RepositoryKind.FOLDER and not may_read_folder
    if is_slow or repository.kind == RepositoryKind.GIT_URL:
        request = scan_request_create(
            repository=repository, revision=revision, actor=actor, asked_by=asked_by
        )
        row_wake(row=request)
        return request
    commit, branch = commit_locate(repository=repository, revision=revision)
    scan_run = scan_run_request(repository=repository, commit=commit, branch=branch, actor=actor)
    row_wake(row=scan_run)
    return scan_run


def follow_ask(*, repository: Repository, actor: User | None, asked_by: AskedBy) -> ScanRequest:
    """Ask for the scans of what is new on the branches that are followed."""
    request = follow_request_create(repository=repository, actor=actor, asked_by=asked_by)
    row_wake(row=request)
    return request


def scan_retry(*, scan_run: ScanRun, actor: User) -> ScanRun | ScanRequest:
    """Ask again for a scan that failed or was cancelled, by the judge of today.

    A plain folder is scanned as it is by now: its earlier state is gone.
    """
    if scan_run.commit.is_snapshot:
        return scan_ask(repository=scan_run.repository, actor=actor, may_read_folder=False)
    again = scan_run_request(
        repository=scan_run.repository, commit=scan_run.commit, branch=scan_run.branch, actor=actor
    )
    row_wake(row=again)
    return again


def row_wake(*, row: LeasedRow) -> None:
    """Tell a worker of a waiting row, once the row is there to be seen.

    A broker that can't be reached is no error here: the row waits, and the clock sends it again.
    """
    if row.state != RowState.PENDING:
        return
    model = type(row)
    model._default_manager.filter(pk=row.pk).update(woken_at=Now())

    def send() -> None:
        _send(model, row.pk)

    transaction.on_commit(send, robust=True)


def chunks_tell(chunks: Sequence[ScanChunk]) -> None:
    """Tell the workers of parts that they may parse; where the broker is away, nobody takes them."""
    for chunk in chunks:
        try:
            current_app.send_task(SCAN_CHUNK_TASK, kwargs={"pk": chunk.pk}, expires=CHUNK_LIVES_SECONDS)
        except (OSError, OperationalError):
            return


def rows_wake_lost() -> int:
    """Send again what waits or lost its worker, fail what lost it too often; return how many were sent."""
    count = 0
    for model, _ in _TASKS:
        lease_give_up_lost(model=model)
        for pk in lease_wake(model=model):
            _send(model, pk)
            count += 1
    return count


def _send(model: type[LeasedRow], pk: int) -> None:
    current_app.send_task(dict(_TASKS)[model], kwargs={"pk": pk})

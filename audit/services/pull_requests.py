"""Keeping what is told of pull requests, and checking what they change."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.db.models import F, QuerySet

from audit.errors import AuditError, LeaseLostError, RevisionUnknownError
from audit.models import (
    PullRequest,
    PullRequestCheck,
    PullRequestSite,
    Repository,
    RepositoryKind,
    Result,
    RowState,
    ScanFile,
    ScanRule,
    ScanRun,
)
from audit.scanner.errors import ScanError
from audit.scanner.report import EarlierResult, FileStatus, RuleStatus, SiteOutcome
from audit.scanner.suppression import ACCEPTED
from audit.services import git_repository, scanning
from audit.services.coverage import Coverage
from audit.services.git_transfer import pull_request_fetch, repository_fetch
from audit.services.ingest import IngestSummary
from audit.services.leases import (
    Heartbeat,
    lease_again,
    lease_claim,
    lease_fail,
    lease_finish,
    lease_kept,
    lease_return,
)
from audit.services.repositories import commit_note
from audit.services.scan_requests import scan_run_request
from audit.services.scan_runs import scan_run_execute

LONGEST_BODY = 200_000
WAIT_FOR_SCANS = timedelta(seconds=30)
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class PullRequestText:
    """What a Git server or a program tells of a pull request."""

    number: int
    head_id: str
    base_id: str
    title: str
    body: str
    changed_at: datetime
    head_name: str = ""
    base_name: str = ""
    url: str = ""
    is_open: bool = True


def pull_request_tell(*, repository: Repository, told: PullRequestText) -> PullRequestCheck | None:
    """Keep what is told of a pull request, in place of what was told before.

    Returns the check of its head and base, new or not; none where what is told is older than what is known.
    """
    _check(repository, told)
    columns = {
        "title": _clean(told.title)[:500],
        "body": _clean(told.body)[:LONGEST_BODY],
        "head_id": told.head_id,
        "base_id": told.base_id,
        "head_name": _clean(told.head_name)[:255],
        "base_name": _clean(told.base_name)[:255],
        "url": _address(told.url),
        "is_open": told.is_open,
        "changed_at": told.changed_at,
    }
    with transaction.atomic():
        row, is_new = PullRequest.objects.select_for_update().get_or_create(
            repository=repository, number=told.number, defaults=columns
        )
        if not is_new and row.changed_at > told.changed_at:
            return None
        if not is_new:
            for name, value in columns.items():
                setattr(row, name, value)
            row.save(update_fields=list(columns))
        check, _ = PullRequestCheck.objects.get_or_create(
            pull_request=row, head_id=row.head_id, base_id=row.base_id
        )
        # What could not be fetched may be there by now.
        lease_again(row=check)
        check.refresh_from_db()
    return check


def _check(repository: Repository, told: PullRequestText) -> None:
    if not repository.has_revisions:
        raise RevisionUnknownError("A plain folder has no pull requests.")
    if not 0 < told.number < 2**31:
        raise AuditError("A pull request has a number.")
    for name, value in (("head", told.head_id), ("base", told.base_id)):
        if not _OBJECT_ID.fullmatch(value):
            raise RevisionUnknownError(f"The {name} of a pull request is told by the full id of its commit.")


def _clean(text: str) -> str:
    return text.replace("\0", "")


def _address(text: str) -> str:
    """Return an address that a page may link to, or nothing."""
    address = _clean(text).strip()
    return address if address.startswith(("https://", "http://")) and len(address) <= 1000 else ""


def pull_request_check_execute(*, pk: int, after_ingest: Callable[[IngestSummary], None]) -> bool:
    """Scan both ends of a pull request where they were not, compare them, and keep the difference.

    Returns whether this call stored it. Where another worker runs one of the scans, the row waits.
    """
    lease_id = lease_claim(model=PullRequestCheck, pk=pk)
    if lease_id is None:
        return False
    check = PullRequestCheck.objects.select_related("pull_request__repository").get(pk=pk)
    try:
        with lease_kept(row=check, lease_id=lease_id) as heartbeat:
            head, start = _ends(check, heartbeat)
            for scan_run in (start, head):
                if not scan_run.is_over:
                    scan_run_execute(pk=scan_run.pk, after_ingest=after_ingest)
                    scan_run.refresh_from_db()
            if not (start.is_over and head.is_over):
                reason = "Another worker runs one of its scans."
                lease_return(row=check, lease_id=lease_id, reason=reason, wait=WAIT_FOR_SCANS)
                # Waiting is no attempt: a scan may take longer than three of them.
                PullRequestCheck.objects.filter(pk=pk, state=RowState.PENDING).update(
                    attempts=F("attempts") - 1
                )
                return False
            for scan_run in (start, head):
                if scan_run.state != RowState.SUCCEEDED:
                    raise AuditError(f"{scan_run} failed: {scan_run.failure_reason or 'it was cancelled.'}")
            rows = _difference(check, start, head)
        with transaction.atomic():
            PullRequestSite.objects.filter(check_row=check).delete()
            PullRequestSite.objects.bulk_create(rows, batch_size=2000)
            lease_finish(
                row=check, lease_id=lease_id, state=RowState.SUCCEEDED, head_scan=head, start_scan=start
            )
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the check back.
        raise
    except (AuditError, ScanError) as error:
        lease_fail(row=check, lease_id=lease_id, reason=str(error))
        return False
    except Exception as error:
        lease_fail(
            row=check, lease_id=lease_id, reason=f"The check broke down: {type(error).__name__}: {error}"
        )
        raise
    return True


def _ends(check: PullRequestCheck, heartbeat: Heartbeat) -> tuple[ScanRun, ScanRun]:
    """Return the scans of the head, and of where it left the base; what is not here is fetched first."""
    repository = check.pull_request.repository
    git_dir = git_repository.git_dir_of(repository)
    if repository.kind == RepositoryKind.GIT_URL:
        repository_fetch(repository=repository, go_on=heartbeat.note)
        if not _is_here(repository, check.head_id):
            pull_request_fetch(repository=repository, number=check.pull_request.number, go_on=heartbeat.note)
    base = git_repository.commit_resolve(git_dir=git_dir, revision=check.base_id)
    head = git_repository.commit_resolve(git_dir=git_dir, revision=check.head_id)
    start_id = git_repository.common_commit(git_dir=git_dir, base=base.object_id, head=head.object_id)
    start = git_repository.commit_resolve(git_dir=git_dir, revision=start_id)
    head_scan, start_scan = (
        scan_run_request(
            repository=repository,
            commit=commit_note(repository=repository, info=info),
            branch=None,
            actor=None,
        )
        for info in (head, start)
    )
    return head_scan, start_scan


def _is_here(repository: Repository, object_id: str) -> bool:
    try:
        git_repository.commit_resolve(git_dir=git_repository.git_dir_of(repository), revision=object_id)
    except RevisionUnknownError:
        return False
    return True


def _difference(check: PullRequestCheck, start: ScanRun, head: ScanRun) -> list[PullRequestSite]:
    """Compare two scans by their sites; what only one of them saw is told if the other could see it."""
    before = _results(start)
    found = Result.objects.filter(scan_run=head)
    after = set(found.values_list("site_id", flat=True))
    absent = [one for one in before if one.key not in after]
    outcomes: dict[int, SiteOutcome] = {}
    if absent:
        report = scanning.outcomes_of(scan_run=head, earlier=before)
        coverage = Coverage.of(report)
        absent = [one for one in absent if coverage.could_see(rule_id=one.rule_id, path=one.path)]
        outcomes = dict(report.outcomes)
    known = {one.key for one in before}
    could_be_seen = set(_where_looked(start, found).values_list("site_id", flat=True))
    new = sorted((after - known - _allowed_in_source(found)) & could_be_seen)
    fresh = [PullRequestSite(check_row=check, site_id=one, is_new=True) for one in new]
    return fresh + [_gone(check, one, outcomes.get(one.key)) for one in absent]


def _allowed_in_source(results: QuerySet[Result]) -> set[int]:
    """Return the sites that a comment in the source suppresses with its reason: none is new."""
    told = results.exclude(suppressions=[]).values_list("site_id", "suppressions")
    return {site for site, said in told if {one["status"] for one in said} == {ACCEPTED}}


def _where_looked(scan_run: ScanRun, results: QuerySet[Result]) -> QuerySet[Result]:
    """Return the results that another scan would have had too: in no file that it did not read whole."""
    read = [FileStatus.SCANNED.value, FileStatus.UNCHANGED.value]
    files = ScanFile.objects.filter(scan_run=scan_run).exclude(status__in=read)
    rules = ScanRule.objects.filter(scan_run=scan_run).exclude(status=RuleStatus.RAN.value)
    return results.exclude(path__in=files.values("path")).exclude(rule_id__in=rules.values("rule_id"))


def _gone(check: PullRequestCheck, one: EarlierResult, outcome: SiteOutcome | None) -> PullRequestSite:
    return PullRequestSite(
        check_row=check,
        site_id=one.key,
        is_new=False,
        outcome=outcome.outcome.value if outcome is not None else "",
        outcome_text=outcome.text if outcome is not None else "",
    )


def _results(scan_run: ScanRun) -> list[EarlierResult]:
    """Return the results of a scan as another scan is asked what became of them, by their sites."""
    columns = ("site_id", "rule_id", "symbol", "path", "form", "partial_fingerprints")
    rows = Result.objects.filter(scan_run=scan_run).order_by("id")
    return [EarlierResult(*row) for row in rows.values_list(*columns)]

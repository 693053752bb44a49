"""Repositories and their scans."""

from __future__ import annotations

from http import HTTPStatus

from ninja import Router, Schema, Status

from audit.models import AskedBy, ScanRequest, ScanRun
from audit.services.repositories import repository_add
from audit.services.scan_requests import scan_request_cancel
from audit.services.scan_runs import scan_run_cancel
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Text, Word
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import RepositoryOut, ScanOut, ScanRequestOut
from migrations_tracker.selectors.keyset import keyset_page
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.services.scans import follow_ask, scan_ask, scan_retry

PAGE_SIZE = 50
router = Router(tags=["repositories"])


class RepositoryIn(Schema):
    """Where a repository is, by URL or path."""

    location: Text
    name: Word = ""


class ScanIn(Schema):
    """What to scan: a revision, or with `follow` whatever is new on the branches that are followed."""

    revision: Word = ""
    follow: bool = False


@router.get("/repositories", response=Page[RepositoryOut])
def repository_list(request: ProgramRequest, cursor: Cursor = "") -> Page[RepositoryOut]:
    """List the repositories by name."""
    rows = repositories_seen_by(request.user)
    page = keyset_page(rows, columns=("slug",), cursor=cursor, size=PAGE_SIZE)
    return Page[RepositoryOut](
        items=[RepositoryOut.of(row) for row in page.rows],
        next=page.next,
        previous=page.previous,
        total=rows.count(),
    )


@router.post("/repositories", response={HTTPStatus.CREATED: RepositoryOut})
def repository_create(request: ProgramRequest, body: RepositoryIn) -> Status[RepositoryOut]:
    """Add a repository."""
    row = repository_add(location=body.location, name=body.name, actor=request.user)
    return Status(HTTPStatus.CREATED, RepositoryOut.of(row))


@router.get("/repositories/{slug}", response=RepositoryOut)
def repository_get(request: ProgramRequest, slug: str) -> RepositoryOut:
    """Show a repository."""
    return RepositoryOut.of(repository_named(slug))


@router.get("/repositories/{slug}/scans", response=Page[ScanOut])
def scan_list(request: ProgramRequest, slug: str, cursor: Cursor = "") -> Page[ScanOut]:
    """List a repository's scans, newest first."""
    rows = ScanRun.objects.filter(repository=repository_named(slug))
    related = rows.select_related("repository", "commit", "branch")
    page = keyset_page(related, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)
    return Page[ScanOut](
        items=[ScanOut.of(row) for row in page.rows],
        next=page.next,
        previous=page.previous,
        total=rows.count(),
    )


@router.post("/repositories/{slug}/scans", response={HTTPStatus.ACCEPTED: ScanRequestOut})
def scan_create(request: ProgramRequest, slug: str, body: ScanIn) -> Status[ScanRequestOut]:
    """Ask for a scan. A commit that was scanned already is answered with that scan."""
    repository = repository_named(slug)
    row: ScanRun | ScanRequest
    if body.follow:
        row = follow_ask(repository=repository, actor=request.user, asked_by=AskedBy.API)
    else:
        row = scan_ask(
            repository=repository,
            revision=body.revision,
            actor=request.user,
            asked_by=AskedBy.API,
            may_read_folder=False,
        )
    return Status(HTTPStatus.ACCEPTED, ScanRequestOut.of(row))


@router.get("/scan-requests/{pk}", response=ScanRequestOut)
def scan_request_get(request: ProgramRequest, pk: Key) -> ScanRequestOut:
    """Tell how far a request is, and which scan it became."""
    found = ScanRequest.objects.filter(pk=pk).first()
    if found is None:
        raise not_found("request")
    return ScanRequestOut.of(found)


@router.post("/scan-requests/{pk}/cancel", response=ScanRequestOut)
def scan_request_end(request: ProgramRequest, pk: Key) -> ScanRequestOut:
    """Cancel a request that waits or is fetched; one that was met stays as it is."""
    found = ScanRequest.objects.filter(pk=pk).first()
    if found is None:
        raise not_found("request")
    scan_request_cancel(scan_request=found, actor=request.user)
    found.refresh_from_db()
    return ScanRequestOut.of(found)


@router.get("/scans/{pk}", response=ScanOut)
def scan_get(request: ProgramRequest, pk: Key) -> ScanOut:
    """Tell how far a scan is, and what it counted."""
    return ScanOut.of(_scan(pk))


@router.post("/scans/{pk}/cancel", response=ScanOut)
def scan_end(request: ProgramRequest, pk: Key) -> ScanOut:
    """Cancel a scan that waits or runs; one that is over stays as it is."""
    scan_run_cancel(scan_run=_scan(pk), actor=request.user)
    return ScanOut.of(_scan(pk))


@router.post("/scans/{pk}/again", response={HTTPStatus.ACCEPTED: ScanRequestOut})
def scan_again(request: ProgramRequest, pk: Key) -> Status[ScanRequestOut]:
    """Ask again for a scan that failed or was cancelled."""
    return Status(HTTPStatus.ACCEPTED, ScanRequestOut.of(scan_retry(scan_run=_scan(pk), actor=request.user)))


def _scan(pk: int) -> ScanRun:
    found = ScanRun.objects.select_related("repository", "commit", "branch").filter(pk=pk).first()
    if found is None:
        raise not_found("scan")
    return found

"""Migration reports: asking for one, and its files."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Router, Schema, Status

from audit.models import RowState, ScanRun
from migrations_tracker.api.v1.choosing import branch_named, report_numbered
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Word
from migrations_tracker.api.v1.problems import RefusedError, not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import ReportOut
from migrations_tracker.report_formats import FORMATS, document_of, report_archive
from migrations_tracker.selectors.report_list import report_list
from migrations_tracker.services.migration_reports import report_create
from migrations_tracker.services.scans import row_wake

ARCHIVE = "zip"
router = Router(tags=["reports"])


class ReportIn(Schema):
    """Of which branch, and since which of its scans; without `since`, of the last scan alone."""

    branch: Word = ""
    since: Key | None = None


@router.get("/repositories/{slug}/reports", response=Page[ReportOut])
def report_index(
    request: ProgramRequest, slug: str, branch: Word = "", cursor: Cursor = ""
) -> Page[ReportOut]:
    """List the reports of a branch, newest first."""
    page = report_list(branch=branch_named(slug, branch), cursor=cursor)
    return Page[ReportOut](
        items=[ReportOut.of(row) for row in page.rows], next=page.next, previous=page.previous
    )


@router.post("/repositories/{slug}/reports", response={HTTPStatus.ACCEPTED: ReportOut})
def report_ask(request: ProgramRequest, slug: str, body: ReportIn) -> Status[ReportOut]:
    """Ask for a report; a worker writes it."""
    branch = branch_named(slug, body.branch)
    since = ScanRun.objects.filter(pk=body.since).first() if body.since is not None else None
    if body.since is not None and since is None:
        raise not_found("scan")
    report = report_create(branch=branch, since=since, actor=request.user)
    row_wake(row=report)
    return Status(HTTPStatus.ACCEPTED, ReportOut.of(report))


@router.get("/reports/{pk}", response=ReportOut)
def report_get(request: ProgramRequest, pk: Key) -> ReportOut:
    """Tell how far a report is."""
    return ReportOut.of(report_numbered(pk))


@router.get("/reports/{pk}/files/{key}", response=None, url_name="report_file")
def report_file(request: ProgramRequest, pk: Key, key: str) -> HttpResponseBase:
    """Send a report in one of its formats: html, pdf, md, csv, json, sarif, or zip of all."""
    report = report_numbered(pk)
    if key not in (*FORMATS, ARCHIVE):
        raise not_found("format")
    if report.state != RowState.SUCCEEDED:
        raise RefusedError("The report is not written yet.", HTTPStatus.CONFLICT)
    if key == ARCHIVE:
        return HttpResponse(report_archive(report), content_type="application/zip")
    chosen = FORMATS[key]
    return StreamingHttpResponse(chosen.write(report, document_of(report)), content_type=chosen.media_type)

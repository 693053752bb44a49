"""Migration reports: asking for one, and its files."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Router, Schema, Status
from pydantic import Field

from audit.models import RowState, ScanRun
from migrations_tracker.api.v1.choosing import branch_named, report_numbered, repository_named
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Word
from migrations_tracker.api.v1.problems import RefusedError, not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import ReportOut
from migrations_tracker.models import Period, ReportSchedule
from migrations_tracker.report_formats import FORMATS, document_of, report_archive
from migrations_tracker.selectors.report_list import report_list
from migrations_tracker.selectors.report_schedules import people_named, report_schedules_of
from migrations_tracker.services.migration_reports import report_create
from migrations_tracker.services.report_schedules import report_schedule_create, report_schedule_end
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


class ScheduleIn(Schema):
    """Which branch is reported on, how often, to whom by log-in name, and which formats are attached."""

    branch: Word = ""
    period: Period
    recipients: Annotated[list[Word], Field(min_length=1, max_length=100)]
    formats: Annotated[list[Word], Field(max_length=10, default_factory=list)]


class ScheduleOut(Schema):
    """A schedule by which reports are mailed."""

    id: int
    branch: str
    period: Period
    recipients: list[str]
    formats: list[str]
    made_by: str

    @classmethod
    def of(cls, row: ReportSchedule) -> ScheduleOut:
        """Tell a schedule."""
        return cls(
            id=row.pk,
            branch=row.branch.name,
            period=Period(row.period),
            recipients=sorted(person.username for person in row.recipients.all()),
            formats=row.formats,
            made_by=row.made_by.username,
        )


@router.get("/repositories/{slug}/report-schedules", response=list[ScheduleOut])
def schedule_index(request: ProgramRequest, slug: str) -> list[ScheduleOut]:
    """List the schedules by which a repository's reports are mailed."""
    return [ScheduleOut.of(row) for row in report_schedules_of(repository=repository_named(slug))]


@router.post("/repositories/{slug}/report-schedules", response={HTTPStatus.CREATED: ScheduleOut})
def schedule_create(request: ProgramRequest, slug: str, body: ScheduleIn) -> Status[ScheduleOut]:
    """Have the reports of a branch mailed each week or month."""
    row = report_schedule_create(
        branch=branch_named(slug, body.branch),
        period=body.period,
        formats=body.formats,
        recipients=people_named(body.recipients),
        actor=request.user,
    )
    return Status(HTTPStatus.CREATED, ScheduleOut.of(row))


@router.delete("/report-schedules/{pk}", response={HTTPStatus.NO_CONTENT: None})
def schedule_end(request: ProgramRequest, pk: Key) -> Status[None]:
    """Mail no more reports by a schedule."""
    row = ReportSchedule.objects.filter(pk=pk).first()
    if row is None:
        raise not_found("schedule")
    report_schedule_end(schedule=row, actor=request.user)
    return Status(HTTPStatus.NO_CONTENT, None)


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

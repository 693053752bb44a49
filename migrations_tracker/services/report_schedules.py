"""Having reports written by the clock and mailed: once for each period, to each who may read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta

import pghistory
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from audit.models import Branch, BranchScan, RowState, ScanRun
from migrations_tracker.errors import PlanError
from migrations_tracker.models import (
    MigrationReport,
    Period,
    ReportMail,
    ReportSchedule,
    ScheduledReport,
)
from migrations_tracker.report_formats import FORMATS
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of, users_with_roles
from migrations_tracker.services.migration_reports import report_create
from migrations_tracker.services.scans import row_wake

SCHEDULE_RUN_TASK = "migrations_tracker.tasks.report_schedule_run"
RECIPIENTS_AT_MOST = 100
# A message that no worker took in this time is dropped: the clock asks again each hour of the day.
MESSAGE_LIVES_SECONDS = 3600


def report_schedule_create(
    *, branch: Branch, period: str, formats: Sequence[str], recipients: Sequence[User], actor: User
) -> ReportSchedule:
    """Have a report of each period mailed to people who may read the repository."""
    if period not in Period.values:
        raise PlanError("Choose how often.")
    unknown = [key for key in formats if key not in FORMATS]
    if unknown:
        raise PlanError(f"There is no format `{unknown[0][:20]}`.")
    if not settings.EMAIL_HOST:
        raise PlanError("No e-mail is sent from here: the administrator has set no EMAIL_HOST.")
    if not 0 < len(recipients) <= RECIPIENTS_AT_MOST:
        raise PlanError(f"Name at least one recipient, and at most {RECIPIENTS_AT_MOST}.")
    for person in recipients:
        if not _may_be_told(person, branch):
            raise PlanError(
                f"{person.username} gets no report: that needs a role in the repository and an address."
            )
    try:
        with transaction.atomic(), pghistory.context(user=actor.pk):
            schedule = ReportSchedule.objects.create(
                branch=branch,
                period=period,
                formats=[key for key in FORMATS if key in formats],
                made_by=actor,
            )
            schedule.recipients.set(recipients)
            _tell_the_clock(schedule)
    except IntegrityError as error:
        raise PlanError("This branch has such a schedule already: end it first.") from error
    return schedule


def report_schedule_end(*, schedule: ReportSchedule, actor: User) -> bool:
    """Mail no more reports by a schedule. False where that was so already."""
    with transaction.atomic(), pghistory.context(user=actor.pk):
        PeriodicTask.objects.filter(name=_task_name(schedule)).delete()
        rows = ReportSchedule.objects.filter(pk=schedule.pk, ended_at=None)
        return bool(rows.update(ended_at=timezone.now()))


def report_schedule_run(*, pk: int, now: datetime | None = None) -> ScheduledReport | None:
    """Ask for the report of the period that ended last, which is due until it was asked for once.

    None where it was, where nothing was scanned, and where the period was over before the schedule was made.
    One that could not be written is due again on the next day.
    """
    with transaction.atomic():
        rows = ReportSchedule.objects.select_for_update(of=("self",)).filter(pk=pk, ended_at=None)
        schedule = rows.select_related("branch__last_scan", "made_by").first()
        if schedule is None or schedule.branch.last_scan is None:
            return None
        today = timezone.localdate(now)
        key, begins = period_before(Period(schedule.period), today)
        was_over = timezone.localdate(schedule.created_at) > day_due(Period(schedule.period), today)
        asked = schedule.reports.filter(period_key=key).select_related("report").first()
        if was_over or (asked is not None and not _failed_before(asked.report, today)):
            return None
        report = report_create(
            branch=schedule.branch, since=_scan_before(schedule.branch, begins), actor=None
        )
        scheduled, _ = ScheduledReport.objects.update_or_create(
            schedule=schedule, period_key=key, defaults={"report": report}
        )
        row_wake(row=report)
    return scheduled


def report_mails_make() -> int:
    """Make the mails of scheduled reports that were written meanwhile; return how many.

    Who may not read the repository any more gets none.
    """
    count = 0
    written = ScheduledReport.objects.filter(is_mailed=False, report__state=RowState.SUCCEEDED)
    for row in written.select_related("schedule__branch"):
        with transaction.atomic():
            if not ScheduledReport.objects.filter(pk=row.pk, is_mailed=False).update(is_mailed=True):
                continue
            people = users_with_roles().filter(report_schedules=row.schedule).order_by("pk")
            for person in people:
                if _may_be_told(person, row.schedule.branch):
                    row_wake(row=ReportMail.objects.create(scheduled=row, recipient=person))
                    count += 1
    return count


def period_before(period: Period, today: date) -> tuple[str, date]:
    """Return the name of the period that ended last, and its first day."""
    due = day_due(period, today)
    if period is Period.WEEKLY:
        begins = due - timedelta(days=7)
        year, week, _ = begins.isocalendar()
        return f"{year}-W{week:02}", begins
    begins = (due - timedelta(days=1)).replace(day=1)
    return f"{begins:%Y-%m}", begins


def day_due(period: Period, today: date) -> date:
    """Return the day from which on the report of the period that ended last is due."""
    if period is Period.WEEKLY:
        return today - timedelta(days=today.weekday())
    return today.replace(day=1)


def _failed_before(report: MigrationReport, day: date) -> bool:
    ended_at = report.finished_at
    return report.state == RowState.FAILED and ended_at is not None and timezone.localdate(ended_at) < day


def _scan_before(branch: Branch, begins: date) -> ScanRun | None:
    """Return the scan that a branch stood at when a day began, as far as was known before it."""
    earlier = BranchScan.objects.filter(branch=branch, created_at__date__lt=begins)
    row = earlier.exclude(scan_run=branch.last_scan_id).order_by("-position").first()
    return row.scan_run if row is not None else None


def _may_be_told(person: User, branch: Branch) -> bool:
    is_reader = standing_of(person).role_in(branch.repository_id) >= Role.READER
    return person.is_active and bool(person.email) and is_reader


def _task_name(schedule: ReportSchedule) -> str:
    return f"mail report by schedule {schedule.pk}"


def _tell_the_clock(schedule: ReportSchedule) -> None:
    """Have the clock ask each day: a report whose day fell into an outage is due until it was asked for."""
    columns = {
        "minute": "5",
        "hour": f"{settings.DIGEST_HOUR}-23",
        "day_of_week": "*",
        "day_of_month": "*",
        "month_of_year": "*",
    }
    when = CrontabSchedule.objects.filter(**columns, timezone=settings.TIME_ZONE).first()
    when = when or CrontabSchedule.objects.create(**columns, timezone=settings.TIME_ZONE)
    PeriodicTask.objects.create(
        name=_task_name(schedule),
        task=SCHEDULE_RUN_TASK,
        crontab=when,
        kwargs=json.dumps({"pk": schedule.pk}),
        expire_seconds=MESSAGE_LIVES_SECONDS,
    )

"""Reports by mail: to whom, of which time, once for each period."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as conf
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask
from pytest_django import Settings

from audit.models import Branch, BranchScan, Repository, RowState, ScanRun
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Membership, MigrationReport, Period, ReportMail, ReportSchedule
from migrations_tracker.roles import Role
from migrations_tracker.services.migration_reports import report_execute
from migrations_tracker.services.report_mails import report_mail_execute
from migrations_tracker.services.report_schedules import (
    period_before,
    report_mails_make,
    report_schedule_create,
    report_schedule_end,
    report_schedule_run,
)
from tests.factories import ingest, make_report, make_repository, make_result, make_user

MONDAY = datetime(2026, 11, 30, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def places(settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    settings.SITE_URL = "https://audit.example.org"


@pytest.fixture
def repository(db: None) -> Repository:
    repository = make_repository()
    ingest(repository, make_report([make_result()]))
    return repository


@pytest.fixture
def branch(repository: Repository) -> Branch:
    return repository.branches.get()


@pytest.fixture
def lena(repository: Repository) -> User:
    return make_user("lena", role=Role.LEAD)


def schedule_of(branch: Branch, lena: User, *recipients: User, **changes: Any) -> ReportSchedule:
    given: dict[str, Any] = {"period": "weekly", "formats": ["pdf", "csv"]} | changes
    schedule = report_schedule_create(branch=branch, recipients=recipients or [lena], actor=lena, **given)
    ReportSchedule.objects.filter(pk=schedule.pk).update(created_at=MONDAY - timedelta(days=40))
    return schedule


def written(schedule: ReportSchedule) -> None:
    assert report_schedule_run(pk=schedule.pk, now=MONDAY)
    assert report_execute(pk=MigrationReport.objects.latest("pk").pk)


@pytest.mark.parametrize(
    ("period", "today", "expected"),
    [
        (Period.WEEKLY, date(2026, 11, 30), ("2026-W48", date(2026, 11, 23))),
        (Period.WEEKLY, date(2026, 12, 6), ("2026-W48", date(2026, 11, 23))),
        (Period.WEEKLY, date(2027, 1, 4), ("2026-W53", date(2026, 12, 28))),
        (Period.MONTHLY, date(2027, 1, 1), ("2026-12", date(2026, 12, 1))),
        (Period.MONTHLY, date(2028, 3, 31), ("2028-02", date(2028, 2, 1))),
    ],
)
def test_the_period_that_ended_last_is_named(period: Period, today: date, expected: tuple[str, date]) -> None:
    assert period_before(period, today) == expected


def test_a_period_has_one_report_and_each_recipient_one_mail(branch: Branch, lena: User) -> None:
    ada = make_user("ada")
    schedule = schedule_of(branch, lena, lena, ada)
    written(schedule)
    assert report_schedule_run(pk=schedule.pk, now=MONDAY) is None
    assert report_mails_make() == 2
    assert report_mails_make() == 0
    for _ in range(2):
        for row in ReportMail.objects.all():
            report_mail_execute(pk=row.pk)
    assert sorted(message.to[0] for message in mail.outbox) == ["ada@example.org", "lena@example.org"]
    first = mail.outbox[0]
    assert first.subject == "minitorch: migration report of 2026-W48"
    assert MigrationReport.objects.get().get_absolute_url() in first.body
    assert [one[0].rpartition(".")[2] for one in first.attachments] == ["pdf", "csv"]
    assert report_schedule_run(pk=schedule.pk, now=MONDAY + timedelta(days=7)) is not None


class TestAnOutage:
    """A report is due from the day after its period on, until it was asked for."""

    THURSDAY = MONDAY + timedelta(days=3)

    @pytest.fixture
    def schedule(self, branch: Branch, lena: User) -> ReportSchedule:
        return schedule_of(branch, lena)

    @pytest.mark.parametrize("period", Period)
    def test_the_clock_asks_on_each_day(self, branch: Branch, lena: User, period: Period) -> None:
        schedule_of(branch, lena, period=period)
        task = PeriodicTask.objects.get(name__startswith="mail report")
        assert (task.crontab.day_of_week, task.crontab.day_of_month) == ("*", "*")

    def test_a_report_whose_day_was_missed_is_written_later_and_once(self, schedule: ReportSchedule) -> None:
        scheduled = report_schedule_run(pk=schedule.pk, now=self.THURSDAY)
        assert scheduled is not None
        assert scheduled.period_key == "2026-W48"
        assert report_schedule_run(pk=schedule.pk, now=self.THURSDAY + timedelta(days=1)) is None

    def test_a_report_that_could_not_be_written_is_due_again_on_the_next_day(
        self, schedule: ReportSchedule
    ) -> None:
        first = report_schedule_run(pk=schedule.pk, now=MONDAY)
        assert first is not None
        failed = {"state": RowState.FAILED, "finished_at": MONDAY, "failure_reason": "The disk is full."}
        MigrationReport.objects.filter(pk=first.report_id).update(**failed)
        assert report_schedule_run(pk=schedule.pk, now=MONDAY + timedelta(hours=5)) is None
        again = report_schedule_run(pk=schedule.pk, now=MONDAY + timedelta(days=1))
        assert again is not None
        assert (again.pk, again.period_key) == (first.pk, "2026-W48")
        assert again.report_id != first.report_id
        assert report_schedule_run(pk=schedule.pk, now=MONDAY + timedelta(days=2)) is None

    def test_a_period_that_was_over_when_the_schedule_was_made_has_none(
        self, schedule: ReportSchedule
    ) -> None:
        ReportSchedule.objects.update(created_at=MONDAY + timedelta(days=1))
        assert report_schedule_run(pk=schedule.pk, now=self.THURSDAY) is None
        assert report_schedule_run(pk=schedule.pk, now=MONDAY + timedelta(days=7)) is not None

    def test_the_clock_of_an_older_schedule_is_set_anew(self, schedule: ReportSchedule) -> None:
        task = PeriodicTask.objects.get(name__startswith="mail report")
        CrontabSchedule.objects.filter(pk=task.crontab_id).update(day_of_week="1")
        migration = import_module("migrations_tracker.migrations.0024_reports_due_each_day")
        with connection.schema_editor() as editor:
            migration.ask_each_day(apps, editor)
        task.refresh_from_db()
        assert (task.crontab.day_of_week, task.crontab.hour) == ("*", f"{conf.DIGEST_HOUR}-23")


def test_a_report_tells_of_the_time_since_the_last_scan_before_the_period(
    repository: Repository, branch: Branch, lena: User
) -> None:
    before = ScanRun.objects.get()
    BranchScan.objects.update(created_at=datetime(2026, 11, 20, tzinfo=UTC))
    ingest(repository, make_report([make_result()]))
    written(schedule_of(branch, lena))
    assert MigrationReport.objects.get().since_scan == before


def test_without_formats_a_mail_has_the_link_alone(branch: Branch, lena: User) -> None:
    written(schedule_of(branch, lena, formats=[]))
    report_mails_make()
    assert report_mail_execute(pk=ReportMail.objects.get().pk)
    assert mail.outbox[0].attachments == []


class TestWhoLostTheRole:
    @pytest.fixture
    def schedule(self, branch: Branch, lena: User) -> ReportSchedule:
        schedule = schedule_of(branch, lena, make_user("eve", role=Role.READER))
        written(schedule)
        return schedule

    def test_is_made_no_mail(self, schedule: ReportSchedule) -> None:
        Membership.objects.filter(user__username="eve").delete()
        assert report_mails_make() == 0

    def test_is_sent_none_that_was_made(self, schedule: ReportSchedule) -> None:
        report_mails_make()
        Membership.objects.filter(user__username="eve").delete()
        assert not report_mail_execute(pk=ReportMail.objects.get().pk)
        assert ReportMail.objects.get().state == RowState.FAILED
        assert mail.outbox == []


def test_a_mail_that_does_not_go_out_is_tried_again(
    branch: Branch, lena: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(schedule_of(branch, lena))
    report_mails_make()

    def refuse(*args: object, **options: object) -> None:
        raise OSError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", refuse)
        row = ReportMail.objects.get()
        assert not report_mail_execute(pk=row.pk)
    row.refresh_from_db()
    assert (row.state, row.failure_reason) == (RowState.PENDING, "connection refused")
    assert report_mail_execute(pk=row.pk)


def test_one_that_has_ended_asks_for_nothing_and_the_clock_forgets_it(branch: Branch, lena: User) -> None:
    schedule = schedule_of(branch, lena)
    assert PeriodicTask.objects.filter(name__startswith="mail report").count() == 1
    assert report_schedule_end(schedule=schedule, actor=lena)
    assert not report_schedule_end(schedule=schedule, actor=lena)
    assert not PeriodicTask.objects.filter(name__startswith="mail report").exists()
    assert report_schedule_run(pk=schedule.pk, now=timezone.now()) is None


def test_what_can_t_be_mailed_is_refused(branch: Branch, lena: User, settings: Settings) -> None:
    eve = make_user("eve", role=None)
    for changes, recipients, reason in (
        ({}, [eve], "needs a role"),
        ({"period": "hourly"}, [lena], "how often"),
        ({"formats": ["exe"]}, [lena], "no format"),
    ):
        with pytest.raises(PlanError, match=reason):
            schedule_of(branch, lena, *recipients, **changes)
    schedule_of(branch, lena)
    with pytest.raises(PlanError, match="already"):
        schedule_of(branch, lena)
    settings.EMAIL_HOST = ""
    with pytest.raises(PlanError, match="EMAIL_HOST"):
        schedule_of(branch, lena, period="monthly")


def test_a_lead_sets_one_on_the_page_and_ends_it_and_an_engineer_does_not(
    branch: Branch, lena: User, client: Client
) -> None:
    body = {"branch": branch.pk, "period": "monthly", "recipients": "lena", "formats": ["pdf"]}
    address = reverse("report-schedule-add")
    client.force_login(make_user("ada"))
    assert client.post(address, body).status_code == 403
    client.force_login(lena)
    answer = client.post(address, body | {"recipients": "lena nobody", "repository": "minitorch"})
    assert answer.status_code == 422
    assert "Nobody has the name nobody" in answer.content.decode()
    assert "lena nobody" in answer.content.decode()
    page = client.post(address, body, follow=True).content.decode()
    assert "On the first of each month" in page
    end = reverse("report-schedule-end", args=[ReportSchedule.objects.get().pk])
    assert "No report is mailed yet" in client.post(end, follow=True).content.decode()

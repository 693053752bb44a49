"""Reports that are mailed by the clock."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from audit.models import Branch, LeasedRow
from audit.models.append_only import EVENTS_KEPT
from audit.models.lease import lease_constraints, waiting_index
from migrations_tracker.models.report import MigrationReport


class Period(models.TextChoices):
    """How long the time is that a report tells of."""

    WEEKLY = "weekly", "Each Monday, of the week before"
    MONTHLY = "monthly", "On the first of each month, of the month before"


@pghistory.track(
    pghistory.InsertEvent("made"),
    pghistory.UpdateEvent("ended", condition=pghistory.AnyChange("ended_at")),
    meta=EVENTS_KEPT,
)
class ReportSchedule(models.Model):
    """The wish that reports of a branch are written and mailed; a link alone where no format is chosen."""

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="report_schedules")
    period = models.CharField(max_length=7, choices=Period)
    formats = ArrayField(models.CharField(max_length=5), default=list, blank=True)
    recipients = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="report_schedules")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                name="report_schedule_period_known", condition=Q(period__in=Period.values)
            ),
            models.UniqueConstraint(
                name="report_schedule_once", fields=["branch", "period"], condition=Q(ended_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.period} report of {self.branch}"


class ScheduledReport(models.Model):
    """The one report that a schedule had written for a period, such as `2026-W48` or `2026-11`."""

    schedule = models.ForeignKey(ReportSchedule, on_delete=models.CASCADE, related_name="reports")
    period_key = models.CharField(max_length=10)
    report = models.OneToOneField(MigrationReport, on_delete=models.CASCADE, related_name="scheduled")
    is_mailed = models.BooleanField(default=False)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(name="scheduled_report_once", fields=["schedule", "period_key"]),
        )

    def __str__(self) -> str:
        return f"{self.schedule}, {self.period_key}"


class ReportMail(LeasedRow):
    """A scheduled report on its way to one person."""

    scheduled = models.ForeignKey(ScheduledReport, on_delete=models.CASCADE, related_name="mails")
    recipient = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("report_mail"),
            models.UniqueConstraint(name="report_mail_once", fields=["scheduled", "recipient"]),
        )
        indexes = (waiting_index("report_mail"),)

    def __str__(self) -> str:
        return f"Report mail {self.pk}"

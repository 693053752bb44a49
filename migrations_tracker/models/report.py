"""Migration reports that are kept."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Branch, LeasedRow, RowState, ScanRun
from audit.models.lease import lease_constraints, waiting_index


class MigrationReport(LeasedRow):
    """A report of a branch as its last scan saw it, and of the time since an earlier scan of the branch.

    `document` holds every fact of the report, all formats are written from it, and `digest` is its SHA-256.
    `head` is what the page shows of it. They are written once, by a worker, and never change.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="reports")
    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="+")
    since_scan = models.ForeignKey(
        ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    document = models.JSONField(null=True, blank=True)
    head = models.JSONField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("migration_report"),
            models.CheckConstraint(
                name="migration_report_written_when_done",
                condition=~Q(state=RowState.SUCCEEDED)
                | Q(document__isnull=False, head__isnull=False) & ~Q(digest=""),
            ),
        )
        indexes = (waiting_index("migration_report"),)

    def __str__(self) -> str:
        return f"Report {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("report-detail", args=[self.pk])

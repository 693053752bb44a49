"""Mechanical reports: the policy's checks of a function, or of what changed between two commits."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from audit.models import Commit, LeasedRow, Repository
from audit.models.lease import lease_constraints, waiting_index


class MechanicalReport(LeasedRow):
    """A report on a function at a commit (`symbol`), or on what changed since another one (`since`).

    `document` is the report as JSON, `markdown` the same for a pull request; both are as they were written.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="mechanical_reports")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="mechanical_reports")
    since = models.ForeignKey(
        Commit, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    symbol = models.TextField(blank=True, db_collation="C")
    is_done = models.BooleanField(null=True)
    document = models.JSONField(default=dict, blank=True)
    markdown = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("mechanical_report"),
            models.CheckConstraint(
                name="mechanical_report_of_one_thing",
                condition=(models.Q(since__isnull=True) & ~models.Q(symbol=""))
                | (models.Q(since__isnull=False) & models.Q(symbol="")),
            ),
        )
        indexes = (
            waiting_index("mechanical_report"),
            models.Index(name="mechanical_report_repo_idx", fields=["repository", "-id"]),
        )

    def __str__(self) -> str:
        return self.symbol or f"{self.since} to {self.commit}"

    def get_absolute_url(self) -> str:
        return reverse("verification-report-detail", args=[self.pk])

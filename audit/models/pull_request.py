"""Pull requests as their Git server, or a program, told of them, and what checks of them measured."""

from __future__ import annotations

import pghistory
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import EVENTS_KEPT
from audit.models.lease import LeasedRow, lease_constraints, waiting_index
from audit.models.repository import Repository
from audit.models.scan import ScanRun
from audit.models.site import FallbackSite
from audit.scanner.report import Outcome


@pghistory.track(
    pghistory.InsertEvent("told"),
    pghistory.UpdateEvent(
        "revised", condition=pghistory.AnyChange("title", "body", "head_id", "base_id", "is_open")
    ),
    meta=EVENTS_KEPT,
)
class PullRequest(models.Model):
    """What is to be merged, and what it says of itself. Earlier texts stay in its history.

    `changed_at` is when its server last changed it: what was sent before that and comes later is left.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="pull_requests")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=500, blank=True)
    body = models.TextField(blank=True)
    head_id = models.CharField(max_length=64, db_collation="C")
    base_id = models.CharField(max_length=64, db_collation="C")
    head_name = models.CharField(max_length=255, blank=True)
    base_name = models.CharField(max_length=255, blank=True)
    url = models.CharField(max_length=1000, blank=True)
    is_open = models.BooleanField(default=True)
    changed_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("repository", "-number")
        constraints = (
            models.UniqueConstraint(name="pull_request_once", fields=["repository", "number"]),
            models.CheckConstraint(
                name="pull_request_names_commits", condition=~Q(head_id="") & ~Q(base_id="")
            ),
        )
        indexes = (models.Index(name="pull_request_head_idx", fields=["repository", "head_id"]),)

    def __str__(self) -> str:
        return f"#{self.number} {self.title}".strip()

    def get_absolute_url(self) -> str:
        return reverse("pull-request-detail", args=[self.pk])


class PullRequestCheck(LeasedRow):
    """Head and base of a pull request, scanned and compared; a new head or base is another check.

    The scans are those of the head, and of the commit that it has in common with the base.
    """

    pull_request = models.ForeignKey(PullRequest, on_delete=models.CASCADE, related_name="checks")
    head_id = models.CharField(max_length=64, db_collation="C")
    base_id = models.CharField(max_length=64, db_collation="C")
    head_scan = models.ForeignKey(ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    start_scan = models.ForeignKey(ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ("pull_request", "-id")
        constraints = (
            models.UniqueConstraint(
                name="pull_request_check_once", fields=["pull_request", "head_id", "base_id"]
            ),
            models.CheckConstraint(
                name="pull_request_check_has_scans",
                condition=~Q(state="succeeded") | Q(head_scan__isnull=False, start_scan__isnull=False),
            ),
            *lease_constraints("pull_request_check"),
        )
        indexes = (waiting_index("pull_request_check"),)

    def __str__(self) -> str:
        return f"Check of pull request {self.pull_request_id} at {self.head_id[:9]}"


class PullRequestSite(models.Model):
    """A site that a pull request brings, or after which it is not seen any more; then with its outcome."""

    check_row = models.ForeignKey(PullRequestCheck, on_delete=models.CASCADE, related_name="sites")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="pull_request_sites")
    is_new = models.BooleanField()
    outcome = models.CharField(max_length=20, blank=True)
    outcome_text = models.TextField(blank=True)

    class Meta:
        ordering = ("check_row", "-is_new", "id")
        constraints = (
            models.UniqueConstraint(name="pull_request_site_once", fields=["check_row", "site"]),
            models.CheckConstraint(
                name="pull_request_site_outcome_known",
                condition=Q(outcome="") | Q(is_new=False, outcome__in=[one.value for one in Outcome]),
            ),
        )

    def __str__(self) -> str:
        return f"{self.site}: {'new' if self.is_new else self.outcome or 'gone'}"

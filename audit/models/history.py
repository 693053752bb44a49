"""What each scan changed on a branch: kept, so that the past can be told without scanning it again."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from audit.models.repository import Branch
from audit.models.scan import ScanRun
from audit.models.site import FallbackSite
from audit.scanner.report import Outcome


class SiteEventKind(models.TextChoices):
    """What a scan can do to a site on a branch."""

    NEW = "new", "New"
    REOPENED = "reopened", "Reopened"
    CLOSED = "closed", "No longer seen"


class BranchScan(models.Model):
    """A scan that a branch moved on to, and what it changed there since the `previous` one.

    `position` is at least the number of commits up to this one, along first parents: there is a place for
    each commit that was not scanned yet.
    `open_count` is what was open before, plus new and reopened, less closed.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="history")
    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="branch_scans")
    previous = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    position = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    open_count = models.PositiveIntegerField()
    new_count = models.PositiveIntegerField()
    reopened_count = models.PositiveIntegerField()
    closed_count = models.PositiveIntegerField()

    class Meta:
        ordering = ("branch", "position")
        constraints = (models.UniqueConstraint(name="branch_scan_once", fields=["branch", "position"]),)

    def __str__(self) -> str:
        return f"{self.branch} at {self.scan_run}"

    @property
    def is_other_judge(self) -> bool:
        """Whether the scan before had another scanner, profile or `ptxas`."""
        return self.previous is not None and self.previous.scan_run.judge != self.scan_run.judge

    @property
    def is_same_code(self) -> bool:
        """Whether the scan before was of the same commit: then only who judges changed."""
        return self.previous is not None and self.previous.scan_run.commit_id == self.scan_run.commit_id


class SiteEvent(models.Model):
    """A site that became open or closed on a branch, with what a closed one became."""

    branch_scan = models.ForeignKey(BranchScan, on_delete=models.CASCADE, related_name="events")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=SiteEventKind)
    outcome = models.CharField(max_length=20, blank=True)
    outcome_evidence = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("branch_scan", "id")
        constraints = (
            models.CheckConstraint(name="site_event_kind_known", condition=Q(kind__in=SiteEventKind.values)),
            models.CheckConstraint(
                name="site_event_outcome_of_closed",
                condition=Q(outcome="") | Q(kind="closed", outcome__in=[one.value for one in Outcome]),
            ),
        )
        # Regressions are few among very many, and shown on the dashboard.
        indexes = (
            models.Index(name="site_event_reopened_idx", fields=["-id"], condition=Q(kind="reopened")),
        )

    def __str__(self) -> str:
        return f"{self.site}: {self.kind}"


class SiteTally(models.Model):
    """How many sites stood in one way on a branch after a scan: what the charts over time are drawn from."""

    branch_scan = models.ForeignKey(BranchScan, on_delete=models.CASCADE, related_name="tallies")
    is_open = models.BooleanField()
    rule_id = models.CharField(max_length=10, db_collation="C")
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    outcome = models.CharField(max_length=20, blank=True)
    count = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "site tallies"
        constraints = (
            models.UniqueConstraint(
                name="site_tally_once", fields=["branch_scan", "is_open", "rule_id", "crate", "outcome"]
            ),
        )

    def __str__(self) -> str:
        return f"{self.count} of {self.rule_id} in {self.crate}"

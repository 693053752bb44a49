"""Capability gaps: cases that PyTorch computes on the device and the code does not, over all commits."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import rows_kept
from audit.models.parity import CapabilityCase
from audit.models.repository import Repository
from audit.models.scan import ScanRun
from audit.parity.capability import State
from audit.scanner.report import Outcome


class GapChangeKind(models.TextChoices):
    """What a scan saw happen to a gap."""

    OPENED = "opened", "Opened"
    REOPENED = "reopened", "Opened again"
    CHANGED = "changed", "Changed its state"
    CLOSED = "closed", "Closed"


class CapabilityGap(CapabilityCase):
    """A case that PyTorch computes on the device and the code does not, over all scans of the default branch.

    `state` and `path` are the code as the gap was last seen. A gap closes when a scan sees that the case is
    computed on the device, or that nothing serves it any more; `closed_scan` is that scan, and `outcome`
    what stands there now. It is empty where the code is as it was, and PyTorch's answer or a match changed.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="capability_gaps")
    is_open = models.BooleanField(default=True)
    outcome = models.CharField(max_length=20, blank=True)
    first_seen_scan = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False)
    last_seen_scan = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False)
    closed_scan = models.ForeignKey(
        ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="capability_gap_once",
                fields=["repository", "operator", "dtype", "device", "direction"],
            ),
            models.CheckConstraint(
                name="capability_gap_closed_by_a_scan",
                condition=Q(is_open=True, closed_scan__isnull=True)
                | Q(is_open=False, closed_scan__isnull=False),
            ),
            models.CheckConstraint(
                name="capability_gap_outcome_known",
                condition=Q(outcome="") | Q(is_open=False, outcome__in=[o.value for o in Outcome]),
            ),
        )

    def get_absolute_url(self) -> str:
        return reverse("gap-detail", args=[self.pk])


class CapabilityGapChange(models.Model):
    """What the scan of a commit changed about a gap. Rows are added and never changed."""

    gap = models.ForeignKey(CapabilityGap, on_delete=models.CASCADE, related_name="changes")
    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=GapChangeKind)
    from_state = models.CharField(max_length=20, blank=True)
    to_state = models.CharField(max_length=20)
    outcome = models.CharField(max_length=20, blank=True)
    path = models.CharField(max_length=1000, blank=True, db_collation="C")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                name="capability_gap_change_kind_known", condition=Q(kind__in=GapChangeKind.values)
            ),
            models.CheckConstraint(
                name="capability_gap_change_state_known",
                condition=Q(to_state__in=[state.value for state in State]),
            ),
        )
        triggers = rows_kept("capability_gap_change")

    def __str__(self) -> str:
        return f"{self.kind} {self.to_state}"

"""Results: what the rules matched in one scan."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from audit.models.append_only import rows_kept
from audit.models.scan import ScanRun
from audit.models.site import FallbackSite
from audit.scanner.report import BaselineState, Level


class Result(models.Model):
    """One match of a rule in one scan, as the scanner told it.

    A stored result never changes. Only which site it is, which the scanner did not tell, can be ruled anew.
    """

    # Not checked for each row: the scan's row is locked while its results are written.
    scan_run = models.ForeignKey(
        ScanRun, on_delete=models.CASCADE, related_name="results", db_constraint=False
    )
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="results")
    baseline_state = models.CharField(max_length=10)
    rule_id = models.CharField(max_length=10, db_collation="C")
    level = models.CharField(max_length=10)
    message = models.TextField()
    path = models.CharField(max_length=1000, db_collation="C")
    start_line = models.PositiveIntegerField()
    start_column = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    end_column = models.PositiveIntegerField()
    symbol = models.TextField(db_collation="C")
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    form = models.CharField(max_length=100, blank=True)
    partial_fingerprints = models.JSONField()
    evidence = models.JSONField(default=list)
    snippet = models.TextField(blank=True)
    suppressions = models.JSONField(default=list)
    properties = models.JSONField(default=dict)

    class Meta:
        ordering = ("path", "start_line", "id")
        constraints = (
            models.CheckConstraint(
                name="result_level_known", condition=Q(level__in=[level.value for level in Level])
            ),
            models.CheckConstraint(
                name="result_baseline_known",
                condition=Q(baseline_state__in=[s.value for s in BaselineState]),
            ),
            models.CheckConstraint(
                name="result_region_ordered",
                condition=Q(start_line__gte=1, end_line__gte=models.F("start_line")),
            ),
        )
        triggers = rows_kept("result", condition=pgtrigger.AnyChange(exclude=["site"]))

    def __str__(self) -> str:
        return f"{self.rule_id} {self.path}:{self.start_line}"

"""Which PyTorch operator each operation of a repository is: by the machine, and by people's rulings."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import EVENTS_KEPT
from audit.models.repository import Repository
from audit.models.scan import ScanRun
from audit.parity.catalogue import Direction
from audit.parity.matching import Verdict
from audit.parity.operations import OperationKind

VERDICTS = [verdict.value for verdict in Verdict]


class _Counterpart(models.Model):
    """What an operation is in PyTorch; `dtype` is empty where the name tells none."""

    verdict = models.CharField(max_length=20)
    counterpart = models.CharField(max_length=200, blank=True, db_collation="C")
    direction = models.CharField(max_length=10, default=Direction.FORWARD.value)
    dtype = models.CharField(max_length=20, blank=True)

    class Meta:
        abstract = True


class OperationMatch(_Counterpart):
    """An operation of a repository's default branch and its match by rule.

    `confidence` is a percentage, 0 where nothing was found; `rule` is what made the match. Operations that
    are gone from the code stay, with `is_seen` false, for the rulings about them.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="operation_matches")
    kind = models.CharField(max_length=30, db_collation="C")
    symbol = models.CharField(max_length=500, db_collation="C")
    crate = models.CharField(max_length=200, db_collation="C")
    path = models.CharField(max_length=1000, db_collation="C")
    line = models.PositiveIntegerField()
    signature = models.TextField(blank=True)
    rule = models.CharField(max_length=100, blank=True)
    confidence = models.PositiveSmallIntegerField(default=0)
    note = models.TextField(blank=True)
    is_seen = models.BooleanField(default=True)
    changed_by_scan = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(name="operation_match_once", fields=["repository", "kind", "symbol"]),
            models.CheckConstraint(
                name="operation_match_kind_known", condition=Q(kind__in=[k.value for k in OperationKind])
            ),
            models.CheckConstraint(name="operation_match_verdict_known", condition=Q(verdict__in=VERDICTS)),
            models.CheckConstraint(
                name="operation_match_confidence_is_a_share", condition=Q(confidence__lte=100)
            ),
        )

    def __str__(self) -> str:
        return self.symbol

    def get_absolute_url(self) -> str:
        return reverse("match-detail", args=[self.pk])


@pghistory.track(meta=EVENTS_KEPT)
class MatchRuling(_Counterpart):
    """A person's word on what an operation is in PyTorch; it outranks the machine until it is withdrawn."""

    match = models.ForeignKey(OperationMatch, on_delete=models.CASCADE, related_name="rulings")
    reason = models.TextField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                name="match_ruling_one_in_force", fields=["match"], condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(name="match_ruling_has_a_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="match_ruling_says_what",
                condition=Q(verdict=Verdict.MATCHED.value) & ~Q(counterpart="")
                | Q(verdict__in=[Verdict.NO_COUNTERPART.value, Verdict.INFRASTRUCTURE.value], counterpart=""),
            ),
            models.CheckConstraint(
                name="match_ruling_ended_by_somebody",
                condition=Q(ended_at__isnull=True, ended_by__isnull=True)
                | Q(ended_at__isnull=False, ended_by__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.verdict} {self.counterpart}".strip()

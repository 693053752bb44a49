"""Sites: the places that persist while the code moves."""

from __future__ import annotations

import uuid

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Upper
from django.urls import reverse

from audit.models.repository import Branch, Commit, Repository
from audit.models.scan import ScanRun
from audit.scanner.matching import MatchPass
from audit.scanner.report import BaselineState, Level, Outcome

# What a large scan adds to the word indexes waits there for vacuum, which does it in one go and meanwhile.
PENDING_KILOBYTES = 64 * 1024
# A link that is less sure than this is a guess, which a person is asked about.
DOUBTFUL_BELOW = 0.7
LEVEL_RANKS = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2, Level.NONE: 3}


MATCH_PASS_LABELS = {
    MatchPass.FINGERPRINT.value: "Same fingerprint",
    MatchPass.SAME_ITEM.value: "Same rule and item, edited",
    MatchPass.NEAREST.value: "Same rule, the nearest that was left",
    MatchPass.RESPELLED.value: "Same item, spelled anew",
    MatchPass.MOVED.value: "Same item in a renamed or moved file",
    MatchPass.SAME_BODY.value: "Same code under another name",
    MatchPass.NEW.value: "Not seen before",
}


class FallbackSite(models.Model):
    """A place in the code: the class of all results, over all scans, that are the same place.

    The primary key is in the site's URL and never changes. The other columns are the form in which the site
    was last recognised, on any branch, and the commit that has it: what the next results are compared with.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="sites")
    correlation_guid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    rule_id = models.CharField(max_length=10, db_collation="C")
    symbol = models.TextField(db_collation="C")
    path = models.CharField(max_length=1000, db_collation="C")
    partial_fingerprints = models.JSONField()
    # Here and below: what names the scan that writes the row, or its commit, is not checked for each of
    # 100,000 rows. The scan's row is locked meanwhile, and the checks took longer than all else.
    first_seen_scan = models.ForeignKey(
        ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    form_commit = models.ForeignKey(
        Commit, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False, db_constraint=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(name="site_has_fingerprint", condition=~Q(partial_fingerprints={})),
        )

    def __str__(self) -> str:
        return f"Site {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("site-detail", args=[self.pk])


class SiteState(models.Model):
    """What the scanner sees of a site on a branch.

    `is_open` and `baseline_state` come from the branch's last scan that could tell; a site that no scan
    could look at keeps what it had.
    """

    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="states")
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="site_states")
    is_open = models.BooleanField()
    baseline_state = models.CharField(max_length=10)
    outcome = models.CharField(max_length=20, blank=True)
    outcome_evidence = models.JSONField(default=dict, blank=True)
    rule_id = models.CharField(max_length=10, db_collation="C")
    level = models.CharField(max_length=10)
    level_rank = models.GeneratedField(
        expression=Case(
            *(When(level=level.value, then=Value(rank)) for level, rank in LEVEL_RANKS.items()),
            default=Value(9),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    path = models.CharField(max_length=1000, db_collation="C")
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    symbol = models.TextField(db_collation="C")
    form = models.CharField(max_length=100, blank=True)
    message = models.TextField()
    result = models.ForeignKey(
        "audit.Result",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    first_seen_scan = models.ForeignKey(
        ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    last_seen_scan = models.ForeignKey(
        ScanRun, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    closed_scan = models.ForeignKey(
        ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(name="site_state_once_per_branch", fields=["site", "branch"]),
            models.CheckConstraint(
                name="site_state_baseline_known",
                condition=Q(baseline_state__in=[s.value for s in BaselineState]),
            ),
            models.CheckConstraint(
                name="site_state_absent_is_closed",
                condition=Q(is_open=True, closed_scan__isnull=True, outcome="")
                & ~Q(baseline_state=BaselineState.ABSENT.value)
                | Q(is_open=False, closed_scan__isnull=False, baseline_state=BaselineState.ABSENT.value),
            ),
            models.CheckConstraint(
                name="site_state_level_known", condition=Q(level__in=[level.value for level in Level])
            ),
            models.CheckConstraint(
                name="site_state_outcome_known", condition=Q(outcome__in=["", *(o.value for o in Outcome)])
            ),
        )
        indexes = (
            models.Index(name="state_path_idx", fields=["branch", "is_open", "path", "start_line", "id"]),
            models.Index(
                name="state_rule_idx", fields=["branch", "is_open", "rule_id", "path", "start_line", "id"]
            ),
            models.Index(
                name="state_level_idx", fields=["branch", "is_open", "level_rank", "path", "start_line", "id"]
            ),
            models.Index(
                name="state_crate_idx", fields=["branch", "is_open", "crate", "path", "start_line", "id"]
            ),
            models.Index(name="state_symbol_idx", fields=["branch", "is_open", "symbol", "id"]),
            models.Index(name="state_site_idx", fields=["branch", "is_open", "site"]),
            # The newest sites of a rule, and which of its sites are among others.
            models.Index(name="state_rule_site_idx", fields=["branch", "rule_id", "site"]),
            # Counts are read from it alone, without the rows.
            models.Index(
                name="state_count_idx",
                fields=["branch", "is_open", "rule_id", "crate", "level", "outcome", "form"],
            ),
            GinIndex(
                OpClass(Upper("symbol"), name="gin_trgm_ops"),
                name="state_symbol_trgm_idx",
                gin_pending_list_limit=PENDING_KILOBYTES,
            ),
            GinIndex(
                OpClass(Upper("path"), name="gin_trgm_ops"),
                name="state_path_trgm_idx",
                gin_pending_list_limit=PENDING_KILOBYTES,
            ),
        )

    def __str__(self) -> str:
        return f"{self.path}:{self.start_line}"


class Lineage(models.Model):
    """How a result of a scan was recognised as a site: the link a person can question."""

    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="lineage")
    scan_run = models.ForeignKey(
        ScanRun, on_delete=models.CASCADE, related_name="lineage", db_constraint=False
    )
    result = models.ForeignKey("audit.Result", on_delete=models.CASCADE, related_name="lineage")
    match_pass = models.CharField(max_length=20, choices=list(MATCH_PASS_LABELS.items()))
    confidence = models.FloatField()
    from_commit = models.ForeignKey(
        Commit, null=True, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    to_commit = models.ForeignKey(
        Commit, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "lineage"
        constraints = (
            models.UniqueConstraint(name="lineage_once_per_result", fields=["result"]),
            models.CheckConstraint(
                name="lineage_confidence_in_range", condition=Q(confidence__gte=0, confidence__lte=1)
            ),
            models.CheckConstraint(
                name="lineage_pass_known", condition=Q(match_pass__in=list(MATCH_PASS_LABELS))
            ),
        )
        indexes = (
            models.Index(
                name="lineage_doubtful_idx", fields=["-id"], condition=Q(confidence__lt=DOUBTFUL_BELOW)
            ),
        )

    def __str__(self) -> str:
        return f"{self.site}: {self.match_pass}"

"""Scans: what was asked for, what ran, and what it looked at."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.lease import LeasedRow, RowState, lease_constraints, waiting_index
from audit.models.repository import Branch, Commit, Repository
from audit.policy.editions import PolicyVersion
from audit.scanner.report import FileStatus, RuleStatus

PHASES = ("read", "extract", "link", "judge", "ingest")


class AskedBy(models.TextChoices):
    """What made a request."""

    PERSON = "person", "a person"
    SCHEDULE = "schedule", "the schedule"
    API = "api", "a program"
    PUSH = "push", "a push"


class ScanRequest(LeasedRow):
    """Somebody's wish to see a revision scanned; it ends in a scan, or in a reason why not.

    The revision is turned into a commit where the repository is, after a fetch where it has an origin. A
    request that follows names no revision: it is for the newest commit of each branch that is followed.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="scan_requests")
    revision = models.CharField(max_length=255, blank=True)
    follows = models.BooleanField(default=False)
    asked_by = models.CharField(max_length=10, choices=AskedBy, default=AskedBy.PERSON)
    scan_run = models.ForeignKey(
        "audit.ScanRun", null=True, blank=True, on_delete=models.SET_NULL, related_name="requests"
    )

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("scan_request"),
            models.UniqueConstraint(
                name="scan_request_once_while_waiting",
                fields=["repository", "revision", "follows"],
                condition=Q(state=RowState.PENDING),
            ),
            models.CheckConstraint(
                name="scan_request_follows_no_revision", condition=Q(follows=False) | Q(revision="")
            ),
            models.CheckConstraint(
                name="scan_request_asked_by_known", condition=Q(asked_by__in=AskedBy.values)
            ),
        )
        indexes = (waiting_index("scan_request"),)

    def __str__(self) -> str:
        if self.follows:
            return f"{self.repository}, the branches that are followed"
        return f"{self.repository} at {self.revision or 'its default branch'}"

    def get_absolute_url(self) -> str:
        return reverse("scan-request-detail", args=[self.pk])


class ScanRun(LeasedRow):
    """One scan of one commit by one judge: scanner version, profile, `ptxas` version and policy.

    `policy_version` is the policy it was judged under: `1`, or `1+3` where the repository had its own.
    `branch` is the branch whose site states the scan may change, if it may.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="scan_runs")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="scan_runs")
    branch = models.ForeignKey(
        Branch, null=True, blank=True, on_delete=models.SET_NULL, related_name="scan_runs"
    )
    scanner_version = models.CharField(max_length=40)
    profile_name = models.CharField(max_length=200)
    profile_hash = models.CharField(max_length=64)
    ptxas_version = models.CharField(max_length=40, blank=True)
    policy_version = models.CharField(max_length=20, blank=True)

    phase = models.CharField(max_length=10, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)

    applies_to_branch = models.BooleanField(default=False)
    duration_seconds = models.FloatField(null=True, blank=True)
    file_count = models.PositiveIntegerField(default=0)
    line_count = models.PositiveIntegerField(default=0)
    result_count = models.PositiveIntegerField(default=0)
    new_count = models.PositiveIntegerField(default=0)
    updated_count = models.PositiveIntegerField(default=0)
    unchanged_count = models.PositiveIntegerField(default=0)
    absent_count = models.PositiveIntegerField(default=0)
    reopened_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("scan_run"),
            models.UniqueConstraint(
                name="scan_run_once_per_commit_and_judge",
                fields=["commit", "scanner_version", "profile_hash", "ptxas_version", "policy_version"],
            ),
        )
        indexes = (
            waiting_index("scan_run"),
            models.Index(name="scan_run_repository_idx", fields=["repository", "-id"]),
        )

    def __str__(self) -> str:
        return f"Scan {self.pk}"

    @property
    def judge(self) -> tuple[str, str, str]:
        """What judged: scanner version, digest of the profile, `ptxas` version."""
        return self.scanner_version, self.profile_hash, self.ptxas_version

    @property
    def own_policy(self) -> int:
        """The number of the repository's own policy that it was judged under; 0 for none."""
        version = PolicyVersion.parse(self.policy_version)
        return version.own if version is not None else 0

    def get_absolute_url(self) -> str:
        return reverse("scan-detail", args=[self.pk])


class ScanChunk(LeasedRow):
    """Some files of a large scan that any worker may parse, for all to find in the cache.

    The rows go with the phase: what nobody took or finished, the scan's own worker does.
    """

    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    paths = ArrayField(models.TextField())

    class Meta:
        ordering = ("scan_run", "number")
        constraints = (
            *lease_constraints("scan_chunk"),
            models.UniqueConstraint(name="scan_chunk_once", fields=["scan_run", "number"]),
        )

    def __str__(self) -> str:
        return f"Part {self.number} of {self.scan_run}"


class ScanFile(models.Model):
    """One file of a scan's manifest."""

    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=1000, db_collation="C")
    blob_id = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in FileStatus])
    reason = models.TextField(blank=True)
    size_bytes = models.PositiveIntegerField(default=0)
    line_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("path",)
        constraints = (
            models.UniqueConstraint(name="scan_file_once", fields=["scan_run", "path"]),
            models.CheckConstraint(
                name="scan_file_status_known", condition=Q(status__in=[s.value for s in FileStatus])
            ),
        )
        indexes = (
            models.Index(
                name="scan_file_not_scanned_idx",
                fields=["scan_run", "path"],
                condition=~Q(status__in=[FileStatus.SCANNED.value, FileStatus.UNCHANGED.value]),
            ),
        )

    def __str__(self) -> str:
        return self.path


class ScanRule(models.Model):
    """One rule of a scan's manifest: a rule that did not run has found nothing out."""

    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="rules")
    rule_id = models.CharField(max_length=10, db_collation="C")
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in RuleStatus])
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ("rule_id",)
        constraints = (
            models.UniqueConstraint(name="scan_rule_once", fields=["scan_run", "rule_id"]),
            models.CheckConstraint(
                name="scan_rule_status_known", condition=Q(status__in=[s.value for s in RuleStatus])
            ),
        )

    def __str__(self) -> str:
        return self.rule_id

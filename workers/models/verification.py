"""Verifications: what one test showed on one machine, and of which functions that is proof."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Commit, Repository, ScanRun
from workers.models.job import VerificationJob
from workers.protocol.outcome import Verdict

VERDICTS = [verdict.value for verdict in Verdict]


class Verification(models.Model):
    """One test of a job: the evidence, and the verdict that the server computed from it.

    `runner_verdict` is what the runner concluded from the same evidence; where the two differ, the server's
    counts. `expectation` and `evidence` are the protocol's documents. A stored verification never changes.
    """

    job = models.ForeignKey(VerificationJob, on_delete=models.CASCADE, related_name="verifications")
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="verifications")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="verifications")
    position = models.PositiveIntegerField()
    crate = models.CharField(max_length=100, db_collation="C")
    binary = models.CharField(max_length=100, db_collation="C")
    test = models.CharField(max_length=300, db_collation="C")
    verdict = models.CharField(max_length=20, choices=[(verdict, verdict) for verdict in VERDICTS])
    runner_verdict = models.CharField(max_length=20)
    reason = models.TextField()
    passes_without_gpu = models.BooleanField(null=True)
    compared_values = models.BooleanField(null=True)
    is_partial = models.BooleanField(default=False)
    kernels = ArrayField(models.TextField(), default=list, blank=True)
    expectation = models.JSONField()
    evidence = models.JSONField()
    canary = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(name="verification_once_per_job", fields=["job", "position"]),
            models.CheckConstraint(name="verification_verdict_known", condition=Q(verdict__in=VERDICTS)),
        )
        indexes = (
            models.Index(name="verification_verdict_idx", fields=["repository", "verdict", "-id"]),
            models.Index(
                name="verification_test_idx", fields=["repository", "crate", "binary", "test", "-id"]
            ),
            models.Index(
                name="verification_no_gpu_idx",
                fields=["repository", "-id"],
                condition=Q(passes_without_gpu=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.test}: {self.verdict}"

    def get_absolute_url(self) -> str:
        return reverse("verification-detail", args=[self.pk])


class VerifiedFunction(models.Model):
    """That a verification says something of a function, while it and its callees have this digest.

    `expired_at` says since when the code is no longer the code that ran.
    """

    verification = models.ForeignKey(Verification, on_delete=models.CASCADE, related_name="functions")
    symbol = models.TextField(db_collation="C")
    digest = models.CharField(max_length=64)
    expired_at = models.DateTimeField(null=True, blank=True)
    expired_by = models.ForeignKey(
        ScanRun, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    expired_because = models.TextField(blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(name="verified_function_once", fields=["verification", "symbol"]),
            models.CheckConstraint(
                name="verified_function_expired_with_reason",
                condition=Q(expired_at__isnull=True) | ~Q(expired_because=""),
            ),
        )
        indexes = (models.Index(name="verified_function_symbol_idx", fields=["symbol"]),)

    def __str__(self) -> str:
        return self.symbol


class PtxLoad(models.Model):
    """What the real driver said to one PTX text of a commit. It outranks the assembler."""

    job = models.ForeignKey(VerificationJob, on_delete=models.CASCADE, related_name="ptx_loads")
    name = models.CharField(max_length=300, db_collation="C")
    sha256 = models.CharField(max_length=64)
    is_loaded = models.BooleanField()
    result = models.IntegerField(null=True)
    error = models.TextField(blank=True)
    log = models.TextField(blank=True)
    device = models.CharField(max_length=200, blank=True)
    driver = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ("name", "id")
        indexes = (models.Index(name="ptx_load_text_idx", fields=["sha256"]),)

    def __str__(self) -> str:
        return self.name

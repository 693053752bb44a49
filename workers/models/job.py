"""Verification jobs: what runners are asked."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Commit, FallbackSite, LeasedRow, Repository
from audit.models.lease import lease_constraints, waiting_index
from workers.models.request import VerificationRequest
from workers.models.runner import Runner
from workers.models.test_bundle import TestBundle
from workers.protocol.job import JobKind
from workers.protocol.outcome import JobState


class VerificationJob(LeasedRow):
    """Work for one runner, under one lease at a time.

    `spec` is the job as it is sent, but for the ids of job and lease. `state` is the row's own; where it
    ended with an outcome, `outcome_state` and `outcome_reason` are what the runner said. `functions` says, by
    the place of each test, which functions it runs: symbol, digest and kernels. `wants_approval` is of code
    that comes from strangers: no runner gets it before a person said yes. `gpu_granted_s` is for how long its
    tests may be on a device under the lease that it has; what was left over then is the job that `continues`
    this one.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="verification_jobs")
    commit = models.ForeignKey(
        Commit, null=True, blank=True, on_delete=models.CASCADE, related_name="verification_jobs"
    )
    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.SET_NULL, related_name="verification_jobs"
    )
    request = models.ForeignKey(
        VerificationRequest, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs"
    )
    kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in JobKind])
    subject = models.CharField(max_length=500, blank=True)
    crate = models.CharField(max_length=100, blank=True, db_collation="C")
    spec = models.JSONField()
    functions = models.JSONField(default=dict, blank=True)
    bundle = models.ForeignKey(
        TestBundle, null=True, blank=True, on_delete=models.PROTECT, related_name="jobs"
    )
    runner = models.ForeignKey(Runner, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs")
    is_nightly = models.BooleanField(default=False)
    continues = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="continued_by"
    )
    wants_approval = models.BooleanField(default=False)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    approved_at = models.DateTimeField(null=True, blank=True)

    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    outcome_state = models.CharField(max_length=10, blank=True)
    outcome_reason = models.TextField(blank=True)
    runner_version = models.CharField(max_length=40, blank=True)
    tracer = models.TextField(blank=True)
    probe = models.JSONField(default=dict, blank=True)
    canaries = models.JSONField(default=list, blank=True)
    bundle_manifest = models.JSONField(default=dict, blank=True)
    gpu_granted_s = models.FloatField(null=True, blank=True)
    gpu_seconds = models.FloatField(default=0)
    log = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("verification_job"),
            models.CheckConstraint(
                name="verification_job_kind_known", condition=Q(kind__in=[kind.value for kind in JobKind])
            ),
            models.CheckConstraint(
                name="verification_job_outcome_known",
                condition=Q(outcome_state__in=["", *(state.value for state in JobState)]),
            ),
            models.CheckConstraint(
                name="verification_job_approved_by_somebody",
                condition=Q(approved_at__isnull=True) | Q(approved_by__isnull=False),
            ),
            models.CheckConstraint(
                name="verification_job_strangers_wait",
                condition=Q(wants_approval=False) | Q(approved_at__isnull=False) | Q(lease_id__isnull=True),
            ),
        )
        indexes = (
            waiting_index("verification_job"),
            models.Index(name="verification_job_runner_idx", fields=["runner", "-id"]),
            models.Index(name="verification_job_repo_idx", fields=["repository", "-id"]),
        )

    def __str__(self) -> str:
        return f"Verification job {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("verification-job-detail", args=[self.pk])

    @property
    def waits_for_approval(self) -> bool:
        """Whether nothing happens before a person says yes."""
        return self.wants_approval and self.approved_at is None

"""Wishes to see something verified, before it is known which tests that takes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Commit, FallbackSite, LeasedRow, Repository, RowState
from audit.models.lease import lease_constraints, waiting_index


class RequestTarget(models.TextChoices):
    """What is to be verified."""

    SITE = "site", "The function of a site"
    OPERATION = "operation", "The functions of an operation"
    FUNCTION = "function", "A function"
    CRATE = "crate", "A crate"
    COMMIT = "commit", "A commit"
    CHANGE = "change", "What changed since"
    PTX = "ptx", "The PTX of a commit"


class VerificationRequest(LeasedRow):
    """A wish: a worker reads the commit, finds the tests that reach the target, and makes jobs of them.

    `tests` is the list that was found, each with how it reaches the target; `digest` is what the target was
    known by. `text` names the target: a symbol, an operator, a crate, or the commit
    since which changes count.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="verification_requests")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="verification_requests")
    target = models.CharField(max_length=10, choices=RequestTarget)
    text = models.TextField(blank=True, db_collation="C")
    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.SET_NULL, related_name="verification_requests"
    )
    is_nightly = models.BooleanField(default=False)
    tests = models.JSONField(default=list, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("verify_request"),
            models.CheckConstraint(
                name="verification_request_target_known", condition=Q(target__in=RequestTarget.values)
            ),
            models.UniqueConstraint(
                name="verification_request_once_while_open",
                fields=["commit", "target", "text"],
                condition=Q(state__in=[RowState.PENDING, RowState.RUNNING]),
            ),
        )
        indexes = (waiting_index("verify_request"),)

    def __str__(self) -> str:
        return f"{self.get_target_display()} {self.text}".strip()

    def get_absolute_url(self) -> str:
        return reverse("verification-request-detail", args=[self.pk])

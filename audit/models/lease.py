"""A row that a worker takes for a limited time."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

MAX_ATTEMPTS = 3


class RowState(models.TextChoices):
    PENDING = "pending", "Waiting"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class LeasedRow(models.Model):
    """Work that is done once, whoever takes it and however often it is lost.

    The row is the truth and the broker's message only a wake-up. A worker claims the row by a conditional
    update that writes a fresh `lease_id`; whatever it writes later is conditional on that id, so a worker
    whose lease ran out changes nothing any more.
    """

    state = models.CharField(max_length=10, choices=RowState, default=RowState.PENDING)
    failure_reason = models.TextField(blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    woken_at = models.DateTimeField(
        null=True, blank=True, help_text="When a worker was last told of the row."
    )
    lease_id = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the row by itself."""
        return self.state in {RowState.SUCCEEDED, RowState.FAILED, RowState.CANCELLED}


def lease_constraints(table: str) -> list[models.BaseConstraint]:
    """Build the constraints every leased table carries."""
    is_over = Q(state__in=[RowState.SUCCEEDED, RowState.FAILED, RowState.CANCELLED])
    return [
        models.CheckConstraint(name=f"{table}_state_known", condition=Q(state__in=RowState.values)),
        models.CheckConstraint(
            name=f"{table}_running_has_lease",
            condition=~Q(state=RowState.RUNNING) | Q(lease_id__isnull=False, lease_expires_at__isnull=False),
        ),
        models.CheckConstraint(
            name=f"{table}_failed_has_reason",
            condition=~Q(state=RowState.FAILED) | ~Q(failure_reason=""),
        ),
        models.CheckConstraint(
            name=f"{table}_over_has_finished_at",
            condition=(is_over & Q(finished_at__isnull=False)) | (~is_over & Q(finished_at__isnull=True)),
        ),
        models.CheckConstraint(name=f"{table}_attempts_bounded", condition=Q(attempts__lte=MAX_ATTEMPTS)),
    ]


def waiting_index(table: str) -> models.Index:
    """Build the index by which lost work is found again."""
    return models.Index(
        name=f"{table}_waiting_idx",
        fields=["state", "lease_expires_at"],
        condition=Q(state__in=[RowState.PENDING, RowState.RUNNING]),
    )

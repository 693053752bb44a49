"""What happened to runners and jobs, and who or what did it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models.append_only import rows_kept
from workers.models.job import VerificationJob
from workers.models.runner import Runner


class MachineEvent(models.Model):
    """One act on a runner or a job. Rows are added and never changed; the database sees to it."""

    runner = models.ForeignKey(Runner, null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    job = models.ForeignKey(
        VerificationJob, null=True, blank=True, on_delete=models.CASCADE, related_name="events"
    )
    act = models.CharField(max_length=30)
    detail = models.TextField(blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                name="machine_event_is_about_something",
                condition=Q(runner__isnull=False) | Q(job__isnull=False),
            ),
        )
        triggers = rows_kept("machine_event")

    def __str__(self) -> str:
        return self.act

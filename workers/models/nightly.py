"""When a repository's device tests are run without anybody asking."""

from __future__ import annotations

import pghistory
from django.db import models
from django.db.models import Q

from audit.models import Repository
from audit.models.append_only import EVENTS_KEPT


@pghistory.track(meta=EVENTS_KEPT)
class NightlyVerification(models.Model):
    """That the tests of a repository's last scanned commit run each day from `hour` on, in UTC.

    `asked_on` is the last day on which they were asked for: once a day, whatever the clock does. Where
    `is_after_scans` is set, those that a new commit touched run as soon as it was scanned.
    """

    repository = models.OneToOneField(
        Repository, on_delete=models.CASCADE, related_name="nightly_verification"
    )
    is_on = models.BooleanField(default=False)
    is_after_scans = models.BooleanField(default=False)
    hour = models.PositiveSmallIntegerField(default=2)
    asked_on = models.DateField(null=True, blank=True)
    failure_reason = models.TextField(blank=True)

    class Meta:
        constraints = (models.CheckConstraint(name="nightly_verification_hour", condition=Q(hour__lte=23)),)

    def __str__(self) -> str:
        return f"{self.repository}, daily from {self.hour}:00"

"""Runners, and what was measured on their machines."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse

from workers.protocol.report import NAME


class RunnerState(models.TextChoices):
    """What people want of a runner; the words of the protocol's `Standing`."""

    ENABLED = "enabled", "Takes jobs"
    DRAINING = "draining", "Ends its job and takes no other"
    DISABLED = "disabled", "Disabled"


class Runner(models.Model):
    """A GPU machine that takes verification jobs.

    Tokens are kept as SHA-256, and the signing key is derived from the installation's secret, the runner and
    `key_serial`: the database alone lets nobody pose as a runner. `is_able` is what its last probe said.
    """

    name = models.CharField(
        max_length=50, unique=True, db_collation="C", validators=[RegexValidator(f"^{NAME.pattern}$")]
    )
    state = models.CharField(max_length=10, choices=RunnerState, default=RunnerState.ENABLED)
    registration_hash = models.CharField(max_length=64, blank=True)
    registration_expires_at = models.DateTimeField(null=True, blank=True)
    token_hash = models.CharField(max_length=64, blank=True)
    key_serial = models.PositiveIntegerField(default=0)
    broker_password_hash = models.CharField(max_length=64, blank=True)
    version = models.CharField(max_length=40, blank=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    registered_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)
    is_able = models.BooleanField(default=False)
    inabilities = models.JSONField(default=list, blank=True)
    devices = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    driver = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(name="runner_state_known", condition=Q(state__in=RunnerState.values)),
            models.CheckConstraint(name="runner_name_plain", condition=Q(name__regex=f"^{NAME.pattern}$")),
            models.UniqueConstraint(
                name="runner_token_once", fields=["token_hash"], condition=~Q(token_hash="")
            ),
            models.UniqueConstraint(
                name="runner_registration_once",
                fields=["registration_hash"],
                condition=~Q(registration_hash=""),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("runner-detail", args=[self.name])

    @property
    def key_id(self) -> str:
        """The name of the key that outcomes of this runner are signed with."""
        return f"{self.name}.{self.key_serial}"


class ProbeReading(models.Model):
    """One measurement of a runner's last probe."""

    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="readings")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    command = models.TextField()
    output = models.TextField(blank=True)
    exit_code = models.IntegerField(null=True)
    started_at = models.DateTimeField()
    duration_s = models.FloatField()
    values = models.JSONField(default=dict)

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(name="probe_reading_once", fields=["runner", "position"]),)

    def __str__(self) -> str:
        return self.name

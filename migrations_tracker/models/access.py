"""How people and programs come in: tokens, and log-ins that failed."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q


@pghistory.track(
    pghistory.InsertEvent("made"),
    pghistory.UpdateEvent("revoked", condition=pghistory.AnyChange("revoked_at")),
    exclude=["digest", "last_used_at"],
)
class ApiToken(models.Model):
    """What a program shows to act for a person. Only a digest of it is kept."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (models.CheckConstraint(name="api_token_named", condition=~Q(name="")),)

    def __str__(self) -> str:
        return self.name


class LoginFailure(models.Model):
    """A log-in that failed; the name is kept as a digest, because some type a password there."""

    name_digest = models.CharField(max_length=64)
    address = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(name="login_failure_name_idx", fields=["name_digest", "created_at"]),
            models.Index(name="login_failure_address_idx", fields=["address", "created_at"]),
        )

    def __str__(self) -> str:
        return f"Failed log-in {self.pk}"

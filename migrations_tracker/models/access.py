"""How people and programs come in: accounts, tokens, and log-ins that failed."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from audit.models.append_only import EVENTS_KEPT

ACCOUNT_FIELDS = ("username", "email", "is_active", "is_staff", "is_superuser")


@pghistory.track(
    pghistory.InsertEvent("added"),
    pghistory.UpdateEvent("changed", row=pghistory.Old, condition=pghistory.AnyChange(*ACCOUNT_FIELDS)),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    fields=list(ACCOUNT_FIELDS),
    model_name="AccountEvent",
    app_label="migrations_tracker",
    obj_field=pghistory.ObjForeignKey(related_name="account_events", related_query_name="account_events"),
    meta=EVENTS_KEPT,
)
class Account(User):
    """A person as the history keeps them: who may do everything is said nowhere else."""

    class Meta:
        proxy = True


class TokenScope(models.TextChoices):
    """What a program may do with a token."""

    READ = "read", "Read"
    WRITE = "write", "Read and write"


@pghistory.track(
    pghistory.InsertEvent("made"),
    pghistory.UpdateEvent("revoked", condition=pghistory.AnyChange("revoked_at")),
    exclude=["digest", "last_used_at", "window_started_at", "window_count"],
    meta=EVENTS_KEPT,
)
class ApiToken(models.Model):
    """What a program shows to act for a person. Only a digest of it is kept.

    `window_count` requests were made since `window_started_at`, which is how the limit is held.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=5, choices=TokenScope, default=TokenScope.WRITE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    window_started_at = models.DateTimeField(null=True, blank=True)
    window_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="api_token_named", condition=~Q(name="")),
            models.CheckConstraint(name="api_token_scope_known", condition=Q(scope__in=TokenScope.values)),
        )

    def __str__(self) -> str:
        return self.name


class ApiAnswer(models.Model):
    """What a request with an idempotency key was answered; no status yet while it is being answered."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(name="api_answer_once_per_key", fields=["owner", "key"]),)

    def __str__(self) -> str:
        return self.key


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

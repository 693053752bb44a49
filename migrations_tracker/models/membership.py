"""Who has which role."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models import Repository
from audit.models.append_only import EVENTS_KEPT
from migrations_tracker.roles import ROLE_TEXTS, Role


@pghistory.track(
    pghistory.InsertEvent("given"),
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("taken", row=pghistory.Old),
    meta=EVENTS_KEPT,
)
class Membership(models.Model):
    """A person's role in a repository, or in all of them, those to come included."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.PositiveSmallIntegerField(
        choices=[(role.value, role.name.capitalize()) for role in ROLE_TEXTS]
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("repository_id", "user_id")
        constraints = (
            models.UniqueConstraint(
                name="membership_once", fields=["user", "repository"], nulls_distinct=False
            ),
            models.CheckConstraint(
                name="membership_role_known", condition=Q(role__in=[role.value for role in ROLE_TEXTS])
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} as {Role(self.role).name.lower()}"

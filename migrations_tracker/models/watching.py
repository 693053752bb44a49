"""Who watches what, and who is mentioned where."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models import CapabilityGap, FallbackSite
from audit.models.append_only import EVENTS_KEPT
from migrations_tracker.models.comment import Comment
from migrations_tracker.models.plan import WorkUnit


class WatchReason(models.TextChoices):
    """Why somebody watches."""

    ASKED = "asked", "You asked to"
    COMMENTED = "commented", "You commented"
    MENTIONED = "mentioned", "Somebody mentioned you"
    ASSIGNED = "assigned", "It is yours"


def _one_of_three() -> Q:
    names = ("site", "gap", "unit")
    return Q(
        *(Q(**{f"{other}__isnull": other != name for other in names}) for name in names), _connector=Q.OR
    )


@pghistory.track(
    pghistory.InsertEvent("begun"), pghistory.DeleteEvent("ended", row=pghistory.Old), meta=EVENTS_KEPT
)
class Watch(models.Model):
    """A person's wish to be told what happens to a site, a gap or a work unit."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches")
    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="watches"
    )
    gap = models.ForeignKey(
        CapabilityGap, null=True, blank=True, on_delete=models.CASCADE, related_name="watches"
    )
    unit = models.ForeignKey(
        WorkUnit, null=True, blank=True, on_delete=models.CASCADE, related_name="watches"
    )
    reason = models.CharField(max_length=10, choices=WatchReason, default=WatchReason.ASKED)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "watches"
        constraints = (
            models.CheckConstraint(name="watch_of_one_thing", condition=_one_of_three()),
            models.CheckConstraint(name="watch_reason_known", condition=Q(reason__in=WatchReason.values)),
            models.UniqueConstraint(
                name="watch_once", fields=["owner", "site", "gap", "unit"], nulls_distinct=False
            ),
        )

    def __str__(self) -> str:
        return f"{self.owner} watches {self.subject}"

    @property
    def subject(self) -> FallbackSite | CapabilityGap | WorkUnit:
        """What is watched."""
        subject = self.site or self.gap or self.unit
        if subject is None:
            raise ValueError("the database holds no watch of nothing")
        return subject


class Mention(models.Model):
    """A person whom a comment calls by name and who may read it."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(name="mention_once", fields=["comment", "person"]),)

    def __str__(self) -> str:
        return f"@{self.person}"


@pghistory.track(meta=EVENTS_KEPT)
class WatchSettings(models.Model):
    """Whether a person begins to watch what they comment on, are mentioned on, or own."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watch_settings"
    )
    is_automatic = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "watch settings"

    def __str__(self) -> str:
        return f"{self.owner}: {'automatic' if self.is_automatic else 'only when asked'}"

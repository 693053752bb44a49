"""Files that belong to comments."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Repository
from audit.models.append_only import EVENTS_KEPT
from migrations_tracker.models.comment import Comment


@pghistory.track(
    pghistory.InsertEvent("added"),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    exclude=["content"],
    meta=EVENTS_KEPT,
)
class Attachment(models.Model):
    """A file that somebody put beside a comment. It never changes; its history keeps that it was there."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="attachments")
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=60)
    size_bytes = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    content = models.BinaryField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(name="attachment_named", condition=~Q(name="")),
            models.CheckConstraint(name="attachment_holds_something", condition=Q(size_bytes__gt=0)),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("attachment-file", args=[self.pk])

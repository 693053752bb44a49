"""What people say about a site or a capability gap."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models import CapabilityGap, FallbackSite
from audit.models.append_only import EVENTS_KEPT


@pghistory.track(meta=EVENTS_KEPT)
class Comment(models.Model):
    """A remark on a site or on a gap, as plain text."""

    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="comments"
    )
    gap = models.ForeignKey(
        CapabilityGap, null=True, blank=True, on_delete=models.CASCADE, related_name="comments"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(max_length=20_000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(name="comment_says_something", condition=~Q(text="")),
            models.CheckConstraint(
                name="comment_on_a_site_or_a_gap",
                condition=Q(site__isnull=False, gap__isnull=True) | Q(site__isnull=True, gap__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"Comment {self.pk}"

"""What people ruled about how sites were recognised."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models.site import FallbackSite, Lineage


class LineageDecision(models.TextChoices):
    """What a person says of a link."""

    SAME = "same", "It is the same site"
    NEW = "new", "It is another site"
    MERGE = "merge", "It is a site that was known before"


class LineageRuling(models.Model):
    """A person's ruling about a link between a result and a site.

    Ruled `new`, what the link brought to `site` since is `split_site`'s. Ruled `merge`, what began as
    `merged_site` with the link is `site`; `was` holds what an undo brings back. A ruling that was undone
    stays.
    """

    lineage = models.ForeignKey(Lineage, on_delete=models.CASCADE, related_name="rulings")
    decision = models.CharField(max_length=5, choices=LineageDecision)
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="+")
    split_site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="split_by"
    )
    merged_site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="merged_by"
    )
    was = models.JSONField(default=dict, blank=True)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                name="lineage_ruling_one_in_force", fields=["lineage"], condition=Q(undone_at=None)
            ),
            models.CheckConstraint(
                name="lineage_ruling_has_its_site",
                condition=Q(decision="same", split_site=None, merged_site=None)
                | Q(decision="new", split_site__isnull=False, merged_site=None)
                | Q(decision="merge", split_site=None, merged_site__isnull=False),
            ),
            models.CheckConstraint(
                name="lineage_ruling_undone_by_somebody",
                condition=Q(undone_at=None, undone_by=None)
                | Q(undone_at__isnull=False, undone_by__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.lineage}: {self.decision}"

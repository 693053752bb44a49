"""Rulings of people that a site or a capability gap stays as it is."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from audit.models import CapabilityGap, FallbackSite
from audit.models.append_only import EVENTS_KEPT


class SuppressionStatus(models.TextChoices):
    """SARIF 2.1.0 section 3.35.3."""

    ACCEPTED = "accepted", "Accepted"
    UNDER_REVIEW = "underReview", "Under review"
    REJECTED = "rejected", "Rejected"


@pghistory.track(meta=EVENTS_KEPT)
class Suppression(models.Model):
    """A person's ruling about a site or a gap, with its justification. It ends by date, by a person, or when
    the site is gone; `ended_at` says when it did. One that is under review was asked for and suppresses
    nothing; one that is rejected has ended. Where a lead's ruling answers a question, `justification` is the
    lead's and `requested_because` stays the asker's.
    """

    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="suppressions"
    )
    gap = models.ForeignKey(
        CapabilityGap, null=True, blank=True, on_delete=models.CASCADE, related_name="suppressions"
    )
    status = models.CharField(max_length=12, choices=SuppressionStatus)
    justification = models.TextField()
    requested_because = models.TextField(blank=True, default="")
    expires_on = models.DateField(null=True, blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="suppression_justified", condition=~Q(justification="")),
            models.CheckConstraint(
                name="suppression_status_known", condition=Q(status__in=SuppressionStatus.values)
            ),
            models.CheckConstraint(
                name="suppression_decided_by_somebody",
                condition=Q(status=SuppressionStatus.UNDER_REVIEW) | Q(decided_by__isnull=False),
            ),
            models.CheckConstraint(
                name="suppression_rejected_has_ended",
                condition=~Q(status=SuppressionStatus.REJECTED) | Q(ended_at__isnull=False),
            ),
            models.UniqueConstraint(
                name="suppression_one_in_force", fields=["site"], condition=Q(ended_at__isnull=True)
            ),
            models.UniqueConstraint(
                name="suppression_of_a_gap_one_in_force", fields=["gap"], condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(
                name="suppression_of_a_site_or_a_gap",
                condition=Q(site__isnull=False, gap__isnull=True) | Q(site__isnull=True, gap__isnull=False),
            ),
        )

    @property
    def is_asked_for(self) -> bool:
        """Whether it waits for a lead."""
        return self.status == SuppressionStatus.UNDER_REVIEW and self.ended_at is None

    @property
    def is_in_force(self) -> bool:
        """Whether it suppresses."""
        return self.status == SuppressionStatus.ACCEPTED and self.ended_at is None

    @property
    def has_other_words(self) -> bool:
        """Whether the asker gave another reason than whoever ruled."""
        return self.requested_because not in ("", self.justification)

    def __str__(self) -> str:
        return f"Suppression of {f'site {self.site_id}' if self.site_id else f'gap {self.gap_id}'}"

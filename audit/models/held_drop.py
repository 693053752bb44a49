"""Sites that vanished without a known outcome, held open until a scan tells more or a person has ruled."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import EVENTS_KEPT
from audit.models.history import BranchScan
from audit.models.site import FallbackSite

DROP_AT_LEAST = 5
DROP_SHARE = 0.1


class HoldState(models.TextChoices):
    """What a person said of a drop."""

    WAITING = "waiting", "Waits for a person"
    KEPT = "kept", "Kept open"
    RELEASED = "released", "Released: they are gone"


class HeldSiteEnd(models.TextChoices):
    """Why a site is held no longer."""

    SEEN = "seen", "A later scan saw it"
    OUTCOME = "outcome", "A later scan told its outcome"
    RELEASED = "released", "A person released it"
    MERGED = "merged", "A person merged a later site into it"


@pghistory.track(
    pghistory.InsertEvent("held"),
    pghistory.UpdateEvent("ruled", condition=pghistory.AnyChange("state")),
    meta=EVENTS_KEPT,
)
class HeldDrop(models.Model):
    """The scan at which sites vanished, and what a person said of it. Meanwhile the sites stay open."""

    branch_scan = models.OneToOneField(BranchScan, on_delete=models.CASCADE, related_name="held_drop")
    open_before = models.PositiveIntegerField()
    site_count = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=HoldState, default=HoldState.WAITING)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="held_drop_state_known", condition=Q(state__in=HoldState.values)),
            models.CheckConstraint(
                name="held_drop_decided_by_somebody",
                condition=Q(state=HoldState.WAITING, decided_by=None, decided_at=None)
                | ~Q(state=HoldState.WAITING) & Q(decided_by__isnull=False, decided_at__isnull=False),
            ),
            models.CheckConstraint(
                name="held_drop_decided_with_reason", condition=Q(state=HoldState.WAITING) | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"{self.site_count} sites held at {self.branch_scan}"

    def get_absolute_url(self) -> str:
        return reverse("held-drop", args=[self.pk])

    @property
    def is_suspicious(self) -> bool:
        """Whether so many vanished that people are told of it, and don't come across it by themselves."""
        return self.site_count >= max(DROP_AT_LEAST, self.open_before * DROP_SHARE)


class HeldSite(models.Model):
    """A site of a drop; `end` is empty while it is held."""

    drop = models.ForeignKey(HeldDrop, on_delete=models.CASCADE, related_name="sites")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="holds")
    end = models.CharField(max_length=10, choices=HeldSiteEnd, blank=True)

    class Meta:
        ordering = ("drop", "id")
        constraints = (
            models.UniqueConstraint(name="held_site_once", fields=["drop", "site"]),
            models.CheckConstraint(
                name="held_site_end_known", condition=Q(end__in=["", *HeldSiteEnd.values])
            ),
        )
        indexes = (models.Index(name="held_site_now_idx", fields=["drop", "site"], condition=Q(end="")),)

    def __str__(self) -> str:
        return f"{self.site}: {self.get_end_display() or 'held'}"

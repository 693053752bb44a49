"""The migration of a site, and every step it took."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone

from audit.models import CapabilityGap, FallbackSite, ScanRun
from audit.models.append_only import EVENTS_KEPT, rows_kept
from migrations_tracker.lifecycle import AT_REST, Cause, Status

STATUS_LABELS = {
    Status.OPEN: "Open",
    Status.ACCEPTED: "Accepted",
    Status.PLANNED: "Planned",
    Status.IN_PROGRESS: "In progress",
    Status.IN_REVIEW: "In review",
    Status.MIGRATED: "Migrated",
    Status.VERIFIED: "Verified",
    Status.SUPPRESSED: "Suppressed",
    Status.REOPENED: "Reopened",
}
CAUSE_LABELS = {
    Cause.PERSON: "a person",
    Cause.SCANNER: "the scanner",
    Cause.GPU: "a GPU run",
    Cause.CALENDAR: "the day it was set for",
}


@pghistory.track(
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    meta={
        **EVENTS_KEPT,
        "indexes": (BrinIndex(name="site_migration_event_brin", fields=["pgh_created_at"]),),
    },
)
class SiteMigration(models.Model):
    """What is planned for a site, or for a capability gap. `version` goes up by one with each change, so that
    two people who change it at the same time notice each other. Its history holds what it was before each
    change.
    """

    site = models.OneToOneField(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="migration"
    )
    gap = models.OneToOneField(
        CapabilityGap, null=True, blank=True, on_delete=models.CASCADE, related_name="migration"
    )
    status = models.CharField(
        max_length=12,
        choices=[(status.value, label) for status, label in STATUS_LABELS.items()],
        default=Status.OPEN.value,
        db_collation="C",
    )
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    due_on = models.DateField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="site_migration_status_known", condition=Q(status__in=[s.value for s in Status])
            ),
            models.CheckConstraint(
                name="site_migration_of_a_site_or_a_gap",
                condition=Q(site__isnull=False, gap__isnull=True) | Q(site__isnull=True, gap__isnull=False),
            ),
        )
        indexes = (
            models.Index(name="site_migration_status_idx", fields=["status", "site"]),
            models.Index(
                name="site_migration_due_idx", fields=["due_on", "site"], condition=Q(due_on__isnull=False)
            ),
        )

    @property
    def subject(self) -> FallbackSite | CapabilityGap:
        """What is migrated."""
        subject = self.site or self.gap
        if subject is None:
            raise ValueError("the database holds no migration of nothing")
        return subject

    @property
    def is_overdue(self) -> bool:
        """Whether its day is over and something is left to do."""
        is_over = self.due_on is not None and self.due_on < timezone.localdate()
        return is_over and self.status not in AT_REST

    def __str__(self) -> str:
        return f"Migration of {f'site {self.site_id}' if self.site_id else f'gap {self.gap_id}'}"


class Transition(models.Model):
    """One step of a migration. Rows are added and never changed or removed; the database sees to it."""

    site_migration = models.ForeignKey(SiteMigration, on_delete=models.PROTECT, related_name="transitions")
    from_status = models.CharField(max_length=12, blank=True)
    to_status = models.CharField(max_length=12)
    cause = models.CharField(max_length=10, choices=[(c.value, label) for c, label in CAUSE_LABELS.items()])
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    scan_run = models.ForeignKey(ScanRun, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                name="transition_status_known", condition=Q(to_status__in=[s.value for s in Status])
            ),
            models.CheckConstraint(
                name="transition_person_is_named",
                condition=~Q(cause=Cause.PERSON.value) | Q(actor__isnull=False),
            ),
        )
        # Rows are added in the order of time: what happened lately is found in a few blocks.
        indexes = (BrinIndex(name="transition_created_brin", fields=["created_at"], pages_per_range=16),)
        triggers = rows_kept("transition")

    def __str__(self) -> str:
        return f"{self.from_status or 'nothing'} to {self.to_status}"

"""Changing many migrations at once, so that each change can be seen and taken back."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Branch, LeasedRow
from audit.models.lease import lease_constraints, waiting_index
from migrations_tracker.lifecycle import Status
from migrations_tracker.models.site_migration import STATUS_LABELS, SiteMigration


class BulkChange(LeasedRow):
    """The wish to move all sites that a filter matched, or to make somebody their owner.

    Which sites these are is kept as its items when it is asked for: what a scan finds later is not among
    them. With `undoes` it takes another change back instead.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="bulk_changes")
    filters = models.JSONField(default=dict, blank=True)
    to_status = models.CharField(max_length=12, blank=True)
    sets_assignee = models.BooleanField(default=False)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.TextField(blank=True)
    undoes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="undone_by"
    )
    item_count = models.PositiveIntegerField(default=0)
    done_count = models.PositiveIntegerField(default=0)
    refused_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("bulk_change"),
            models.CheckConstraint(
                name="bulk_change_changes_something",
                condition=Q(to_status__in=[status.value for status in Status])
                | Q(to_status="", sets_assignee=True)
                | Q(undoes__isnull=False),
            ),
        )
        indexes = (waiting_index("bulk_change"),)

    def __str__(self) -> str:
        return f"Bulk change {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("bulk-change-detail", args=[self.pk])

    @property
    def what(self) -> str:
        """What it does, in words."""
        if self.undoes_id is not None:
            return f"Take back change #{self.undoes_id}"
        parts = [f"move to {STATUS_LABELS[Status(self.to_status)].lower()}"] if self.to_status else []
        if self.sets_assignee:
            parts.append(f"give to {self.assignee.get_username()}" if self.assignee else "give to nobody")
        return " and ".join(parts).capitalize()


class ItemState(models.TextChoices):
    """What became of one migration of a bulk change."""

    WAITING = "waiting", "Waiting"
    DONE = "done", "Changed"
    REFUSED = "refused", "Not changed"


class BulkChangeItem(models.Model):
    """One migration of a bulk change, with what it was before and the version it has since."""

    bulk_change = models.ForeignKey(BulkChange, on_delete=models.CASCADE, related_name="items")
    site_migration = models.ForeignKey(SiteMigration, on_delete=models.CASCADE, related_name="bulk_items")
    state = models.CharField(max_length=8, choices=ItemState, default=ItemState.WAITING)
    from_status = models.CharField(max_length=12)
    from_assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    seen_version = models.PositiveIntegerField()
    new_version = models.PositiveIntegerField(null=True, blank=True)
    refusal = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="bulk_item_once", fields=["bulk_change", "site_migration"]),
            models.CheckConstraint(
                name="bulk_item_state_known",
                condition=Q(state=ItemState.WAITING.value, new_version=None, refusal="")
                | Q(state=ItemState.DONE.value, new_version__isnull=False, refusal="")
                | (Q(state=ItemState.REFUSED.value, new_version=None) & ~Q(refusal="")),
            ),
        )
        indexes = (models.Index(name="bulk_item_waiting_idx", fields=["bulk_change", "state", "id"]),)

    def __str__(self) -> str:
        return f"{self.site_migration} in {self.bulk_change}"

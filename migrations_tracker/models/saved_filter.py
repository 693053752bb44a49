"""Filters that people keep, for themselves or for all who see the repository."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import Repository
from audit.models.append_only import EVENTS_KEPT


@pghistory.track(
    pghistory.InsertEvent("kept"),
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("dropped", row=pghistory.Old),
    meta=EVENTS_KEPT,
)
class SavedFilter(models.Model):
    """A filter of the list of sites under a name. `query` is what stands in the address."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters"
    )
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="saved_filters")
    name = models.CharField(max_length=100)
    query = models.CharField(max_length=2000)
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(name="saved_filter_once", fields=["owner", "repository", "name"]),
            models.CheckConstraint(name="saved_filter_named", condition=~Q(name="")),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"{reverse('site-list')}?{self.query}"

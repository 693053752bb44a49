"""The filters of the list of sites that somebody may use."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from audit.models import Repository
from migrations_tracker.models import SavedFilter


def saved_filters_of(*, person: User, repository: Repository | None) -> QuerySet[SavedFilter]:
    """Return the filters that a person keeps in a repository, and those that are shared there."""
    rows = SavedFilter.objects.filter(Q(owner=person) | Q(is_shared=True), repository=repository)
    return rows.select_related("owner")

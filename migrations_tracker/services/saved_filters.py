"""Keeping filters of the list of sites."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.http import QueryDict

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.models import SavedFilter
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of

MAX_KEPT = 100
#: What narrows or orders the list; where in it a page begins is not kept.
KEPT = (
    "branch",
    "seen",
    "crate",
    "rule",
    "form",
    "level",
    "status",
    "outcome",
    "due",
    "q",
    "sort",
    "columns",
)


def saved_filter_keep(
    *, owner: User, repository: Repository, name: str, query: QueryDict, is_shared: bool
) -> SavedFilter:
    """Keep a filter under a name; the same name again is the same filter, changed."""
    # What can't be seen makes a name of nothing, or one that reads as another.
    name = "".join(one for one in name if one.isprintable()).strip()
    if not name:
        raise PlanError("Give the filter a name.")
    if len(name) > 100:
        raise PlanError("A name has at most 100 characters.")
    kept = QueryDict(mutable=True)
    kept["repository"] = repository.slug
    for key in KEPT:
        if query.get(key):
            kept.setlist(key, [value.replace("\0", "") for value in query.getlist(key)])
    text = kept.urlencode()
    if len(text) > 2000:
        raise PlanError("This filter is too long to be kept.")
    with transaction.atomic():
        mine = SavedFilter.objects.filter(owner=owner, repository=repository)
        if mine.exclude(name=name).count() >= MAX_KEPT:
            raise PlanError(f"You keep {MAX_KEPT} filters here already; drop one first.")
        return SavedFilter.objects.update_or_create(
            owner=owner, repository=repository, name=name, defaults={"query": text, "is_shared": is_shared}
        )[0]


def saved_filter_drop(*, row: SavedFilter, actor: User) -> None:
    """Drop a filter: one's own, or as a lead one that is shared."""
    is_lead = standing_of(actor).role_in(row.repository_id) >= Role.LEAD
    if row.owner_id != actor.pk and not (row.is_shared and is_lead):
        raise PlanError("Only who kept a filter, or a lead where it is shared, drops it.")
    row.delete()

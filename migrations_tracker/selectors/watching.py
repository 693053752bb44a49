"""What a person watches, and what they were told for themselves."""

from __future__ import annotations

from typing import TypeVar, cast

from django.contrib.auth.models import User
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from migrations_tracker.models import Notice, Watch, WatchSettings
from migrations_tracker.models.notice import PERSONAL
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page
from migrations_tracker.selectors.standings import repository_ids_seen_by

PAGE_SIZE = 50
KINDS = ("site", "gap", "unit")
Row = TypeVar("Row", bound=Model)


def with_watch(rows: QuerySet[Row], *, kind: str, person: User) -> QuerySet[Row]:
    """Add to sites, gaps or units whether a person watches them, as `is_watched`."""
    watched = Watch.objects.filter(owner=person, **{kind: OuterRef("pk")})
    # The types of annotations forget which model the rows are of.
    return cast("QuerySet[Row]", rows.annotate(is_watched=Exists(watched)))


def watch_page(*, owner: User, kind: str = "", cursor: str = "") -> KeysetPage[Watch]:
    """List what a person watches and may still see, newest first; a kind that is none does not narrow."""
    rows = Watch.objects.filter(owner=owner).select_related(
        "site__repository", "gap__repository", "unit__plan__repository"
    )
    seen = repository_ids_seen_by(owner)
    if seen is not None:
        rows = rows.filter(
            Q(site__repository__in=seen) | Q(gap__repository__in=seen) | Q(unit__plan__repository__in=seen)
        )
    if kind in KINDS:
        rows = rows.filter(**{f"{kind}__isnull": False})
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)


def is_automatic(*, owner: User) -> bool:
    """Whether a person watches by itself what they take part in."""
    return not WatchSettings.objects.filter(owner=owner, is_automatic=False).exists()


def inbox_page(*, owner: User, kind: str = "", cursor: str = "") -> KeysetPage[Notice]:
    """List what happened that concerns a person, newest first, of repositories that they may still see."""
    rows = Notice.objects.filter(people=owner).select_related("repository")
    seen = repository_ids_seen_by(owner)
    if seen is not None:
        rows = rows.filter(repository__in=seen)
    if kind in PERSONAL:
        rows = rows.filter(kind=kind)
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)

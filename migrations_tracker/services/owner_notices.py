"""Noticing what was made somebody's: a site, a gap or a work unit, by whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User

from migrations_tracker.models import Notice, NoticeKind, SiteMigration, WorkUnit
from migrations_tracker.services.personal_notices import Readers, name_of


@dataclass(frozen=True, slots=True)
class _Given:
    key: str
    repository_id: int
    name: str
    path: str
    owner_id: int
    actor_id: int | None


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of one row as its history has it: who owned the row before, and who changed it."""

    pk: int
    row_id: int
    owner_id: int | None
    actor_id: int | None


def owner_notices(*, since: datetime) -> list[tuple[Notice, frozenset[int]]]:
    """Return what became somebody's since a moment and still is, each with whose it is.

    Nobody is told what they took themselves, or of a repository that they may not read.
    """
    given = [*_migrations(since), *_units(since)]
    may_read = Readers({one.owner_id for one in given})
    actors = User.objects.in_bulk({one.actor_id for one in given if one.actor_id is not None})
    found = []
    for one in given:
        people = may_read.of({one.owner_id}, repository_id=one.repository_id, but=one.actor_id)
        if people:
            found.append((_notice(one, actors.get(one.actor_id or 0)), people))
    return found


def _notice(one: _Given, actor: User | None) -> Notice:
    by = f", by {actor}" if actor is not None else ""
    return Notice(
        kind=NoticeKind.OWNED,
        key=f"owned:{one.key}",
        repository_id=one.repository_id,
        title=f"{one.name} is yours now{by}"[:300],
        path=one.path,
    )


def _migrations(since: datetime) -> Iterator[_Given]:
    changes = _changes("SiteMigrationEvent", "assignee_id", since)
    rows = SiteMigration.objects.filter(pk__in=changes, assignee__isnull=False)
    for row in rows.select_related("site", "gap").order_by("pk"):
        subject = row.site or row.gap
        change = _giving(changes[row.pk], row.assignee_id)
        if subject is not None and row.assignee_id is not None and change is not None:
            yield _Given(
                key=f"{'site' if row.site_id else 'gap'}:{change.pk}",
                repository_id=subject.repository_id,
                name=name_of(subject),
                path=subject.get_absolute_url(),
                owner_id=row.assignee_id,
                actor_id=change.actor_id,
            )


def _units(since: datetime) -> Iterator[_Given]:
    changes = _changes("WorkUnitEvent", "person__user_id", since)
    rows = WorkUnit.objects.filter(pk__in=changes, person__user__isnull=False)
    for row in rows.select_related("plan", "person").order_by("pk"):
        owner_id = row.person.user_id if row.person is not None else None
        change = _giving(changes[row.pk], owner_id)
        if owner_id is not None and change is not None:
            yield _Given(
                key=f"unit:{change.pk}",
                repository_id=row.plan.repository_id,
                name=f"unit “{row.title}”",
                path=row.get_absolute_url(),
                owner_id=owner_id,
                actor_id=change.actor_id,
            )


def _changes(model: str, owner: str, since: datetime) -> dict[int, list[_Change]]:
    """Return the changes of each row, oldest first."""
    events: Any = apps.get_model("migrations_tracker", model)._default_manager
    rows = events.filter(pgh_created_at__gt=since, pgh_label="changed").order_by("pgh_id")
    found: dict[int, list[_Change]] = {}
    for pk, row_id, owner_id, actor_id in rows.values_list(
        "pgh_id", "pgh_obj_id", owner, "pgh_context__metadata__user"
    ):
        found.setdefault(row_id, []).append(_Change(pk, row_id, owner_id, actor_id))
    return found


def _giving(changes: list[_Change], owner_id: int | None) -> _Change | None:
    """Return the change that made a row its owner's; None where it was that before."""
    owners = [change.owner_id for change in changes] + [owner_id]
    gave = [
        change
        for change, (before, after) in zip(changes, pairwise(owners), strict=True)
        if before != after == owner_id
    ]
    return gave[-1] if gave else None

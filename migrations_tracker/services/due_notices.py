"""Noticing what is due: a day before, and once it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from migrations_tracker.lifecycle import AT_REST
from migrations_tracker.models import Notice, NoticeKind, SiteMigration, Watch, WorkUnit
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.services.personal_notices import Readers, name_of

SOON = timedelta(days=1)
# What was due before that was told, or was over when somebody dated it.
LATE = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class _Due:
    key: str
    repository_id: int
    name: str
    path: str
    day: date
    people: frozenset[int]


def due_notices(*, now: datetime) -> list[tuple[Notice, frozenset[int]]]:
    """Return what is due tomorrow or today, and what is over since yesterday, each with whose it is.

    What nobody owns is told to those who watch it.
    """
    today = timezone.localdate(now)
    due = [*_migrations(today), *_units(today)]
    may_read = Readers({person for one in due for person in one.people})
    found = []
    for one in due:
        people = may_read.of(one.people, repository_id=one.repository_id)
        if people:
            found.append((_notice(one, today), people))
    return found


def _notice(one: _Due, today: date) -> Notice:
    is_over = one.day < today
    return Notice(
        kind=NoticeKind.DUE,
        key=f"due:{one.key}:{one.day}:{'over' if is_over else 'soon'}",
        repository_id=one.repository_id,
        title=f"{one.name} {'was' if is_over else 'is'} due on {one.day}"[:300],
        path=one.path,
    )


def _migrations(today: date) -> Iterator[_Due]:
    rows = (
        SiteMigration.objects.filter(due_on__range=(today - LATE, today + SOON))
        .exclude(status__in=sorted(AT_REST))
        .select_related("site", "gap")
    )
    watchers = _watchers(rows)
    for row in rows:
        subject = row.site or row.gap
        if subject is None or row.due_on is None:
            continue
        kind = "site" if row.site_id else "gap"
        owners = {row.assignee_id} if row.assignee_id else watchers.get((kind, subject.pk), set())
        yield _Due(
            key=f"{kind}:{subject.pk}",
            repository_id=subject.repository_id,
            name=name_of(subject),
            path=subject.get_absolute_url(),
            day=row.due_on,
            people=frozenset(owners),
        )


def _watchers(rows: Iterable[SiteMigration]) -> dict[tuple[str, int], set[int]]:
    unowned = [row for row in rows if row.assignee_id is None]
    sites = [row.site_id for row in unowned if row.site_id is not None]
    gaps = [row.gap_id for row in unowned if row.gap_id is not None]
    watchers: dict[tuple[str, int], set[int]] = {}
    if unowned:
        for watch in Watch.objects.filter(Q(site__in=sites) | Q(gap__in=gaps)).order_by():
            subject = ("site", watch.site_id or 0) if watch.site_id else ("gap", watch.gap_id or 0)
            watchers.setdefault(subject, set()).add(watch.owner_id)
    return watchers


def _units(today: date) -> Iterator[_Due]:
    first, last = today - LATE, today + SOON
    rows = WorkUnit.objects.filter(deadline__date__range=(first, last), person__user__isnull=False).exclude(
        status=UnitStatus.FINISHED.value
    )
    for row in rows.select_related("plan", "person"):
        if row.deadline is not None and row.person is not None and row.person.user_id is not None:
            yield _Due(
                key=f"unit:{row.pk}",
                repository_id=row.plan.repository_id,
                name=f"unit “{row.title}”",
                path=row.get_absolute_url(),
                day=timezone.localdate(row.deadline),
                people=frozenset({row.person.user_id}),
            )

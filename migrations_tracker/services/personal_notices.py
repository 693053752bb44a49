"""Noticing what concerns single people: that they are mentioned, and what happens to what they watch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q

from audit.models import CapabilityGap, CapabilityGapChange, FallbackSite, SiteEvent, SiteEventKind
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Comment, Notice, NoticeKind, PlanEvent, Transition, Watch
from migrations_tracker.models.site_migration import CAUSE_LABELS, STATUS_LABELS
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of, users_with_roles

EXCERPT = 1000


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that was done to a site, a gap or a unit, and by whom."""

    key: str
    kind: str
    subject_id: int
    repository_id: int
    name: str
    what: str
    path: str
    at: datetime
    actor_id: int | None = None
    text: str = ""
    called: frozenset[int] = frozenset()


def personal_notices(*, since: datetime) -> list[tuple[Notice, frozenset[int]]]:
    """Return what happened since a moment that concerns single people, each with whom it concerns.

    Nobody is told what they did themselves, what is older than their watch, or of a repository that they may
    not read; a comment that mentions somebody is told to them as that alone.
    """
    found = list(_happenings(since))
    watching = _watching(found)
    may_read = Readers({person for one in found for person in one.called} | _owners(watching))
    told = []
    for one in found:
        called = may_read.of(one.called, repository_id=one.repository_id, but=one.actor_id)
        watchers = may_read.of(
            {
                owner
                for owner, begun in watching.get((one.kind, one.subject_id), ())
                if begun < one.at and owner not in one.called
            },
            repository_id=one.repository_id,
            but=one.actor_id,
        )
        if called:
            told.append((_notice(one, NoticeKind.MENTION), called))
        if watchers:
            told.append((_notice(one, NoticeKind.WATCHED), watchers))
    return told


def _notice(one: Happening, kind: NoticeKind) -> Notice:
    what = one.what.replace(" comments on ", " mentions you on ") if kind is NoticeKind.MENTION else one.what
    return Notice(
        kind=kind,
        key=f"{kind}:{one.key}",
        repository_id=one.repository_id,
        title=what[:300],
        path=one.path,
        items=[{"text": one.text[:EXCERPT]}] if one.text else [],
    )


def _happenings(since: datetime) -> Iterator[Happening]:
    yield from _comments(since)
    yield from _transitions(since)
    yield from _site_events(since)
    yield from _gap_changes(since)
    yield from _unit_events(since)


def _watched(kind: str, path: str) -> Exists:
    return Exists(Watch.objects.filter(**{kind: OuterRef(path)}))


def _comments(since: datetime) -> Iterator[Happening]:
    rows = (
        Comment.objects.filter(created_at__gt=since)
        .select_related("author", "site__repository", "gap__repository")
        .prefetch_related("mentions")
    )
    for row in rows:
        subject = row.site or row.gap
        if subject is not None:
            yield _happening(
                subject,
                key=f"comment:{row.pk}",
                what=f"{row.author} comments on {{name}}",
                at=row.created_at,
                anchor=f"#comment-{row.pk}",
                actor_id=row.author_id,
                text=row.text,
                called=frozenset(mention.person_id for mention in row.mentions.all()) - {row.author_id},
            )


def _transitions(since: datetime) -> Iterator[Happening]:
    rows = Transition.objects.filter(created_at__gt=since).exclude(from_status="")
    watched = rows.filter(_watched("site", "site_migration__site") | _watched("gap", "site_migration__gap"))
    for row in watched.select_related(
        "actor", "site_migration__site__repository", "site_migration__gap__repository"
    ):
        subject = row.site_migration.site or row.site_migration.gap
        if subject is not None:
            causes = {cause.value: label for cause, label in CAUSE_LABELS.items()}
            who = str(row.actor) if row.actor is not None else causes[row.cause]
            before, after = STATUS_LABELS[Status(row.from_status)], STATUS_LABELS[Status(row.to_status)]
            yield _happening(
                subject,
                key=f"transition:{row.pk}",
                what=f"{{name}} went from {before.lower()} to {after.lower()} by {who}",
                at=row.created_at,
                actor_id=row.actor_id,
                text=row.reason,
            )


def _site_events(since: datetime) -> Iterator[Happening]:
    rows = SiteEvent.objects.filter(
        _watched("site", "site"),
        branch_scan__created_at__gt=since,
        # What no worker ran was read into the history afterwards: that is the past, and no news.
        branch_scan__scan_run__attempts__gte=1,
        branch_scan__branch__name=F("branch_scan__branch__repository__default_branch"),
    ).exclude(kind=SiteEventKind.NEW)
    for row in rows.select_related("site__repository", "branch_scan__scan_run__commit"):
        commit = row.branch_scan.scan_run.commit.short_id
        became = f": {row.outcome}" if row.outcome else ", and what became of it is not known"
        yield _happening(
            row.site,
            key=f"site-event:{row.pk}",
            what=f"{{name}} is seen again at {commit}"
            if row.kind == SiteEventKind.REOPENED
            else f"{{name}} is no longer seen at {commit}{became}",
            at=row.branch_scan.created_at,
        )


def _gap_changes(since: datetime) -> Iterator[Happening]:
    rows = CapabilityGapChange.objects.filter(_watched("gap", "gap"), created_at__gt=since)
    for row in rows.select_related("gap__repository", "scan_run__commit"):
        became = f": {row.outcome}" if row.outcome else f": {row.to_state}"
        yield _happening(
            row.gap,
            key=f"gap-change:{row.pk}",
            what=f"{{name}} {row.get_kind_display().lower()} at {row.scan_run.commit.short_id}{became}",
            at=row.created_at,
        )


def _unit_events(since: datetime) -> Iterator[Happening]:
    rows = PlanEvent.objects.filter(_watched("unit", "unit"), created_at__gt=since)
    for row in rows.select_related("unit__plan", "actor"):
        if row.unit is not None:
            who = f" ({row.actor})" if row.actor is not None else ""
            yield Happening(
                key=f"plan-event:{row.pk}",
                kind="unit",
                subject_id=row.unit.pk,
                repository_id=row.unit.plan.repository_id,
                name=row.unit.title,
                what=f"unit “{row.unit.title}”: {row.what}{who}",
                path=row.unit.get_absolute_url(),
                at=row.created_at,
                actor_id=row.actor_id,
                text=row.reason,
            )


def name_of(subject: FallbackSite | CapabilityGap) -> str:
    """Name a site or a gap as notices do."""
    if isinstance(subject, FallbackSite):
        return f"site #{subject.pk} {subject.symbol}".strip()
    return f"gap #{subject.pk} {subject}"


def _happening(
    subject: FallbackSite | CapabilityGap,
    *,
    key: str,
    what: str,
    at: datetime,
    anchor: str = "",
    actor_id: int | None = None,
    text: str = "",
    called: frozenset[int] = frozenset(),
) -> Happening:
    name = name_of(subject)
    return Happening(
        key=key,
        kind="site" if isinstance(subject, FallbackSite) else "gap",
        subject_id=subject.pk,
        repository_id=subject.repository_id,
        name=name,
        what=what.replace("{name}", name),
        path=subject.get_absolute_url() + anchor,
        at=at,
        actor_id=actor_id,
        text=text,
        called=called,
    )


_Watching = Mapping[tuple[str, int], Collection[tuple[int, datetime]]]


def _watching(found: Iterable[Happening]) -> _Watching:
    """Return who watches what happened, and since when."""
    wanted: dict[str, set[int]] = {"site": set(), "gap": set(), "unit": set()}
    for one in found:
        wanted[one.kind].add(one.subject_id)
    columns = Q(*(Q(**{f"{kind}__in": ids}) for kind, ids in wanted.items() if ids), _connector=Q.OR)
    watching: dict[tuple[str, int], list[tuple[int, datetime]]] = {}
    if not any(wanted.values()):
        return watching
    for row in Watch.objects.filter(columns).order_by():
        subject = ("site", row.site_id) if row.site_id else ("gap", row.gap_id) if row.gap_id else None
        kind, pk = subject or ("unit", row.unit_id)
        watching.setdefault((kind, pk or 0), []).append((row.owner_id, row.created_at))
    return watching


def _owners(watching: _Watching) -> set[int]:
    return {owner for watchers in watching.values() for owner, _ in watchers}


class Readers:
    """Who of some people may read which repository."""

    def __init__(self, people: Collection[int]) -> None:
        rows = users_with_roles().filter(pk__in=people) if people else ()
        self._standings = {person.pk: standing_of(person) for person in rows}

    def of(self, people: Collection[int], *, repository_id: int, but: int | None = None) -> frozenset[int]:
        """Return those who may read a repository, but for who did what is told."""
        return frozenset(
            person
            for person in people
            if person != but
            and person in self._standings
            and self._standings[person].role_in(repository_id) >= Role.READER
        )

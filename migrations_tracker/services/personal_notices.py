"""Noticing what concerns single people: that they are mentioned, and what happens to what they watch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q

from audit.models import CapabilityGap, CapabilityGapChange, FallbackSite, SiteEvent, SiteEventKind
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import (
    Comment,
    Notice,
    NoticeKind,
    PlanEvent,
    Suppression,
    SuppressionStatus,
    Transition,
    Watch,
)
from migrations_tracker.models.site_migration import CAUSE_LABELS, STATUS_LABELS
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of, users_with_roles

EXCERPT = 1000
_SUPPRESSED = Status.SUPPRESSED.value
_OF_SUPPRESSIONS = Q(from_status=_SUPPRESSED) | Q(to_status=_SUPPRESSED)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that was done to a site, a gap or a unit, and by whom.

    It mentions whom it has `called`; it is told to whom it has `concerned`, whether they watch or not.
    """

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
    concerned: frozenset[int] = frozenset()


def personal_notices(*, since: datetime) -> list[tuple[Notice, frozenset[int]]]:
    """Return what happened since a moment that concerns single people, each with whom it concerns.

    Nobody is told what they did themselves, what is older than their watch, or of a repository that they may
    not read; a comment that mentions somebody is told to them as that alone. Of suppressions leads are told,
    who are to rule, and whoever asked.
    """
    found = list(_happenings(since))
    watching = _watching(found)
    named = {person for one in found for person in one.called | one.concerned}
    may_read = Readers(named | _owners(watching))
    told = []
    for one in found:
        called = may_read.of(one.called, repository_id=one.repository_id, but=one.actor_id)
        watchers = may_read.of(
            one.concerned
            | {
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
    yield from _questions(since)
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
    watched = rows.filter(
        _watched("site", "site_migration__site")
        | _watched("gap", "site_migration__gap")
        | Q(_is_ruled_about("site") | _is_ruled_about("gap"), _OF_SUPPRESSIONS)
    ).select_related("actor", "site_migration__site__repository", "site_migration__gap__repository")
    parties = _parties([row for row in watched if _SUPPRESSED in (row.from_status, row.to_status)])
    for row in watched:
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
                concerned=parties.get(row.site_migration_id, frozenset()),
            )


def _is_ruled_about(kind: str) -> Exists:
    return Exists(Suppression.objects.filter(**{kind: OuterRef(f"site_migration__{kind}")}))


def _parties(rows: Sequence[Transition]) -> dict[int, frozenset[int]]:
    """Return who asked for the newest suppression of what was moved, and who ruled about it, by migration."""
    moved = {row.site_migration_id for row in rows}
    asked = Suppression.objects.filter(Q(site__migration__in=moved) | Q(gap__migration__in=moved))
    columns = ("site__migration", "gap__migration", "requested_by", "decided_by")
    return {
        of_site or of_gap: frozenset({asker, ruler} - {None})
        for of_site, of_gap, asker, ruler in asked.order_by("pk").values_list(*columns)
    }


def _questions(since: datetime) -> Iterator[Happening]:
    """Tell leads of suppressions that are asked for, and who asked that one is rejected.

    That one is accepted, or over, is a step of what it is about.
    """
    rows = Suppression.objects.filter(Q(created_at__gt=since) | Q(ended_at__gt=since)).select_related(
        "requested_by", "decided_by", "site__repository", "gap__repository"
    )
    leads: dict[int, frozenset[int]] = {}
    for row in rows.exclude(requested_by=F("decided_by"), status=SuppressionStatus.ACCEPTED):
        subject = row.site or row.gap
        if subject is None:
            continue
        if row.created_at > since:
            repository = subject.repository_id
            leads[repository] = leads.get(repository) or _leads(repository)
            yield _happening(
                subject,
                key=f"suppression-asked:{row.pk}",
                what=f"{row.requested_by} asks for a suppression of {{name}}",
                at=row.created_at,
                actor_id=row.requested_by_id,
                text=row.justification,
                concerned=leads[repository],
            )
        if row.status == SuppressionStatus.REJECTED and row.ended_at is not None and row.ended_at > since:
            yield _happening(
                subject,
                key=f"suppression-rejected:{row.pk}",
                what=f"{row.decided_by} rejects the suppression of {{name}}",
                at=row.ended_at,
                actor_id=row.decided_by_id,
                text=row.ended_because,
                concerned=frozenset({row.requested_by_id}),
            )


def _leads(repository_id: int) -> frozenset[int]:
    people = users_with_roles().filter(is_active=True)
    return frozenset(one.pk for one in people if standing_of(one).role_in(repository_id) >= Role.LEAD)


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
    concerned: frozenset[int] = frozenset(),
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
        concerned=concerned,
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

"""Moving the migration of a site or a gap from one status to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pghistory
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from audit.errors import AuditError
from audit.models import CapabilityGap, FallbackSite, PrecedentKind, ReferenceSource, ScanRun
from audit.selectors.references import commit_is_named
from audit.selectors.sites import site_is_open, site_outcome
from audit.services.copying import ids_among, rows_copy
from audit.services.precedents import precedent_record, precedents_end
from audit.services.references import references_store
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Cause, Situation, Status, TransitionNotAllowedError, check
from migrations_tracker.models import SiteMigration, Transition, WatchReason
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.services.migration_locks import Subject, migration_lock
from migrations_tracker.services.suppressions import day_check, suppression_end, suppression_start
from migrations_tracker.services.watching import watch_start_by_itself

# A year that is typed wrong is refused, rather than kept.
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)


def site_migration_transition(
    *,
    site: FallbackSite,
    to: Status,
    actor: User,
    reason: str = "",
    seen_version: int | None = None,
    clause_id: str = "",
    is_ruling: bool = True,
    expires_on: date | None = None,
) -> SiteMigration:
    """Move a site's migration by a person's hand; a ruling with a reason is remembered as a precedent.

    Only a lead suppresses, until `expires_on` where that is given; others ask for it.
    A step that only takes another one back `is_ruling` no more than that.
    `seen_version` is the version the person looked at; where it is no longer the newest, nothing changes.
    """
    with transaction.atomic():
        migration = migration_lock(subject=site, seen_version=seen_version)
        source = Status(migration.status)
        seen = _Seen(site_is_open(site=site), site_outcome(site=site))
        migration = _move_by_person(migration, site, seen, to, actor, reason, expires_on=expires_on)
        said = reason.replace("\0", "").strip()
        if source in _RULINGS and (source is Status.SUPPRESSED or to is Status.OPEN):
            precedents_end(site=site, kinds=[_RULINGS[source]], because=said or "It was taken back.")
        if is_ruling:
            _remember(site, to, actor, said, clause_id)
        return migration


def gap_migration_transition(
    *,
    gap: CapabilityGap,
    to: Status,
    actor: User,
    reason: str = "",
    seen_version: int | None = None,
    expires_on: date | None = None,
) -> SiteMigration:
    """Move a capability gap's migration by a person's hand, as that of a site."""
    with transaction.atomic():
        migration = migration_lock(subject=gap, seen_version=seen_version)
        gap = CapabilityGap.objects.get(pk=gap.pk)
        seen = _Seen(gap.is_open, gap.outcome)
        return _move_by_person(migration, gap, seen, to, actor, reason, expires_on=expires_on)


def site_migration_assign(
    *, migration: SiteMigration, assignee: User | None, actor: User, seen_version: int | None = None
) -> SiteMigration:
    """Make somebody the owner of a migration, or nobody; its history keeps who did it and who owned it."""
    if assignee is not None and not assignee.is_active:
        raise PlanError(f"{assignee} can't log in any more: choose somebody else.")
    with transaction.atomic(), pghistory.context(user=actor.pk):
        migration = migration_lock(subject=migration.subject, seen_version=seen_version)
        if migration.assignee_id != (assignee.pk if assignee else None):
            subject = migration.subject
            if assignee is not None and not _may_see(assignee, subject):
                raise PlanError(f"{assignee} has no role in this repository: choose somebody else.")
            migration.assignee = assignee
            migration.version += 1
            migration.save(update_fields=["assignee", "version", "changed_at"])
            if assignee is not None:
                watch_start_by_itself(person=assignee, subject=subject, reason=WatchReason.ASSIGNED)
    return migration


def site_migration_due(
    *, migration: SiteMigration, due_on: date | None, actor: User, seen_version: int | None = None
) -> SiteMigration:
    """Say by which day a migration is to be done, or by none; its history keeps who said what before."""
    if due_on is not None and not FIRST_DAY <= due_on <= LAST_DAY:
        raise PlanError(f"A due date is between {FIRST_DAY} and {LAST_DAY}.")
    with transaction.atomic(), pghistory.context(user=actor.pk):
        migration = migration_lock(subject=migration.subject, seen_version=seen_version)
        if migration.due_on != due_on:
            migration.due_on = due_on
            migration.version += 1
            migration.save(update_fields=["due_on", "version", "changed_at"])
    return migration


def _may_see(person: User, subject: Subject) -> bool:
    return standing_of(person).role_in(subject.repository_id) >= Role.READER


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the newest scan says of a site or a gap."""

    is_open: bool
    outcome: str


def _move_by_person(
    migration: SiteMigration,
    subject: Subject,
    seen: _Seen,
    to: Status,
    actor: User,
    reason: str,
    *,
    expires_on: date | None,
) -> SiteMigration:
    reason = reason.replace("\0", "").strip()
    source = Status(migration.status)
    is_settled = bool(seen.outcome) or commit_is_named(repository=subject.repository, text=reason)
    check(source, to, Cause.PERSON, Situation(bool(reason), seen.is_open, False, is_settled))
    if to is Status.SUPPRESSED:
        if standing_of(actor).role_in(subject.repository_id) < Role.LEAD:
            raise TransitionNotAllowedError("Only a lead suppresses: ask for it, with your reason.")
        day_check(expires_on)
    elif expires_on is not None:
        raise PlanError("Only a suppression has a last day.")
    migration.status = to.value
    migration.version += 1
    migration.save(update_fields=["status", "version", "changed_at"])
    if to is Status.SUPPRESSED:
        suppression_start(subject=subject, justification=reason, actor=actor, expires_on=expires_on)
    if source is Status.SUPPRESSED:
        is_gap = isinstance(subject, CapabilityGap)
        sites, gaps = ((), (subject.pk,)) if is_gap else ((subject.pk,), ())
        suppression_end(sites=sites, gaps=gaps, because=reason)
    Transition.objects.create(
        site_migration=migration,
        from_status=source.value,
        to_status=to.value,
        cause=Cause.PERSON.value,
        actor=actor,
        reason=reason,
    )
    return migration


_RULINGS = {Status.SUPPRESSED: PrecedentKind.SUPPRESSED, Status.ACCEPTED: PrecedentKind.ACCEPTED}


def _remember(site: FallbackSite, to: Status, actor: User, reason: str, clause_id: str) -> None:
    """Keep a ruling for the like of the site."""
    if not reason:
        return
    references_store(
        repository=site.repository,
        text=reason,
        sites=[site.pk],
        source=ReferenceSource.REASON,
        source_path=site.get_absolute_url(),
    )
    if to in _RULINGS:
        try:
            precedent_record(site=site, kind=_RULINGS[to], reason=reason, clause_id=clause_id, actor=actor)
        except AuditError as error:
            raise PlanError(str(error)) from error


def site_migrations_open(
    *, sites: Sequence[int] = (), gaps: Sequence[int] = (), scan_run: ScanRun, reason: str
) -> None:
    """Begin the migration of sites and gaps that a scan found; those that have one are left alone."""
    _open("site_id", sites, scan_run, reason)
    _open("gap_id", gaps, scan_run, reason)


_OPEN = """
WITH fresh AS (
    INSERT INTO {migrations} ({column}, status, version, created_at, changed_at)
    SELECT subject, %(status)s, 1, now(), now() FROM unnest(%(subjects)s::bigint[]) AS found (subject)
    ON CONFLICT ({column}) DO NOTHING
    RETURNING id
)
INSERT INTO {transitions} (
    site_migration_id, from_status, to_status, cause, scan_run_id, reason, created_at
)
SELECT id, '', %(status)s, %(cause)s, %(scan)s, %(reason)s, now() FROM fresh
"""


def _open(column: str, subjects: Sequence[int], scan_run: ScanRun, reason: str) -> None:
    # A plain text: within a request, the history of people's changes reads each statement as one.
    statement = _OPEN.format(
        migrations=SiteMigration._meta.db_table, transitions=Transition._meta.db_table, column=column
    )
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                "subjects": list(subjects),
                "status": Status.OPEN.value,
                "cause": Cause.SCANNER.value,
                "scan": scan_run.pk,
                "reason": reason,
            },
        )


def site_migrations_move_by_scan(
    *,
    sites: Sequence[int] = (),
    gaps: Sequence[int] = (),
    sources: Sequence[Status],
    to: Status,
    scan_run: ScanRun,
    is_seen: bool,
    reason: str,
) -> list[int]:
    """Move the migrations of `sites` and `gaps` that stand at one of `sources`, because of what a scan saw.

    Returns the migrations that moved.
    """
    situation = Situation(has_reason=True, is_seen_by_scanner=is_seen, has_fitting_verdict=False)
    for source in sources:
        check(source, to, Cause.SCANNER, situation)
    moving = list(
        SiteMigration.objects.select_for_update().filter(
            Q(site__in=ids_among(sites)) | Q(gap__in=ids_among(gaps)),
            status__in=[source.value for source in sources],
        )
    )
    _note_scan([(migration.pk, migration.status) for migration in moving], to, scan_run, reason)
    SiteMigration.objects.filter(pk__in=ids_among(migration.pk for migration in moving)).update(
        status=to.value, version=F("version") + 1, changed_at=Now()
    )
    return [migration.pk for migration in moving]


def _note_scan(moves: Sequence[tuple[int, str]], to: Status, scan_run: ScanRun, reason: str) -> None:
    """Keep a step for each migration and the status it comes from."""
    now = timezone.now()
    rows_copy(
        table=Transition._meta.db_table,
        columns=(
            "site_migration_id",
            "from_status",
            "to_status",
            "cause",
            "scan_run_id",
            "reason",
            "created_at",
        ),
        rows=(
            (migration_id, source, to.value, Cause.SCANNER.value, scan_run.pk, reason, now)
            for migration_id, source in moves
        ),
    )

"""Moving a site's migration from one status to the next."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from audit.models import FallbackSite, ScanRun
from audit.selectors.sites import site_is_open
from audit.services.copying import ids_reserve, rows_copy
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import Cause, Situation, Status, check
from migrations_tracker.models import SiteMigration, Transition
from migrations_tracker.services.suppressions import suppression_end, suppression_start


def site_migration_transition(
    *,
    site: FallbackSite,
    to: Status,
    actor: User,
    reason: str = "",
    seen_version: int | None = None,
) -> SiteMigration:
    """Move a site's migration by a person's hand.

    `seen_version` is the version the person looked at; where it is no longer the newest, nothing changes.
    """
    reason = reason.replace("\0", "").strip()
    with transaction.atomic():
        migration = SiteMigration.objects.select_for_update().filter(site=site).first()
        if migration is None:
            raise PlanError("No scan of the default branch has found this site: it has no migration to move.")
        if seen_version is not None and seen_version != migration.version:
            raise ChangedMeanwhileError(
                f"The site became `{migration.status}` while you looked at it. This is its newest state: "
                "look again, then decide."
            )
        source = Status(migration.status)
        situation = Situation(
            has_reason=bool(reason),
            is_seen_by_scanner=site_is_open(site=site),
            has_fitting_verdict=False,
        )
        check(source, to, Cause.PERSON, situation)
        migration.status = to.value
        migration.version += 1
        migration.save(update_fields=["status", "version", "changed_at"])
        if to is Status.SUPPRESSED:
            suppression_start(site=site, justification=reason, actor=actor)
        if source is Status.SUPPRESSED:
            suppression_end(sites=[site.pk], because=reason)
        Transition.objects.create(
            site_migration=migration,
            from_status=source.value,
            to_status=to.value,
            cause=Cause.PERSON.value,
            actor=actor,
            reason=reason,
        )
    return migration


def site_migrations_open(*, sites: Sequence[int], scan_run: ScanRun, reason: str) -> None:
    """Begin the migration of sites that a scan found; those that have one are left alone."""
    known = set(SiteMigration.objects.filter(site__in=sites).values_list("site_id", flat=True))
    fresh = [site_id for site_id in sites if site_id not in known]
    migration_ids = ids_reserve(model=SiteMigration, count=len(fresh))
    now = timezone.now()
    rows_copy(
        table=SiteMigration._meta.db_table,
        columns=("id", "site_id", "status", "version", "created_at", "changed_at"),
        rows=(
            (migration_id, site_id, Status.OPEN.value, 1, now, now)
            for migration_id, site_id in zip(migration_ids, fresh, strict=True)
        ),
    )
    _note_scan([(migration_id, "") for migration_id in migration_ids], Status.OPEN, scan_run, reason)


def site_migrations_move_by_scan(
    *,
    sites: Sequence[int],
    sources: Sequence[Status],
    to: Status,
    scan_run: ScanRun,
    is_seen: bool,
    reason: str,
) -> list[int]:
    """Move the migrations of `sites` that stand at one of `sources`, because of what a scan saw.

    Returns the sites that moved.
    """
    situation = Situation(has_reason=True, is_seen_by_scanner=is_seen, has_fitting_verdict=False)
    for source in sources:
        check(source, to, Cause.SCANNER, situation)
    moving = list(
        SiteMigration.objects.select_for_update().filter(
            site__in=sites, status__in=[source.value for source in sources]
        )
    )
    _note_scan([(migration.pk, migration.status) for migration in moving], to, scan_run, reason)
    SiteMigration.objects.filter(pk__in=[migration.pk for migration in moving]).update(
        status=to.value, version=F("version") + 1, changed_at=Now()
    )
    return [migration.site_id for migration in moving]


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

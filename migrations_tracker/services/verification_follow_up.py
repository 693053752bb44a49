"""What a verification means for the plan."""

from __future__ import annotations

from celery import current_app
from django.db import transaction

from audit.models import FallbackSite, ScanRun
from audit.selectors.sites import site_is_open
from migrations_tracker.lifecycle import Cause, Situation, Status, check
from migrations_tracker.models import SiteMigration, Transition
from workers.models import Verification, VerificationJob, VerifiedFunction
from workers.protocol.outcome import PROVED
from workers.services.expiry import has_proof_to_check

DISPATCH_TASK = "migrations_tracker.tasks.verification_jobs_dispatch"
EXPIRE_TASK = "migrations_tracker.tasks.verification_expire"
_PROOFS = frozenset(verdict.value for verdict in PROVED)


def verification_follow_up(job: VerificationJob, verifications: list[Verification]) -> None:
    """Move migrations whose sites were proved, and give the runner that is free again its next job."""
    for verification in verifications:
        if verification.verdict in _PROOFS:
            _prove(verification)
    dispatch_wake()


def dispatch_wake() -> None:
    """Have waiting jobs given to free runners, once what was written is there to be seen."""
    transaction.on_commit(lambda: current_app.send_task(DISPATCH_TASK), robust=True)


def expiry_wake(*, scan_run: ScanRun) -> None:
    """Have proof looked at that a new scan of the default branch may have ended."""
    if has_proof_to_check(scan_run=scan_run):
        transaction.on_commit(
            lambda: current_app.send_task(EXPIRE_TASK, kwargs={"pk": scan_run.pk}), robust=True
        )


def _prove(verification: Verification) -> None:
    """Move the migrations of sites in the functions that the verification is proof about."""
    symbols = VerifiedFunction.objects.filter(verification=verification).values("symbol")
    migrations = (
        SiteMigration.objects.select_for_update(of=("self",))
        .select_related("site")
        .filter(
            status=Status.MIGRATED.value,
            site__repository=verification.repository_id,
            site__symbol__in=symbols,
        )
    )
    for migration in migrations:
        if migration.site is not None and not _is_seen(migration.site):
            _move(migration, verification)


def _is_seen(site: FallbackSite) -> bool:
    return site_is_open(site=site)


def _move(migration: SiteMigration, verification: Verification) -> None:
    situation = Situation(has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=True)
    check(Status(migration.status), Status.VERIFIED, Cause.GPU, situation)
    before, migration.status = migration.status, Status.VERIFIED.value
    migration.version += 1
    migration.save(update_fields=["status", "version", "changed_at"])
    Transition.objects.create(
        site_migration=migration,
        from_status=before,
        to_status=Status.VERIFIED.value,
        cause=Cause.GPU.value,
        reason=f"Verification {verification.pk}: {verification.test} is {verification.verdict}. "
        f"{verification.reason}",
    )

"""What a verification means for the plan."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from celery import current_app
from django.db import transaction
from django.db.models import F, QuerySet

from audit.errors import AuditError
from audit.models import Branch, DriverAnswer, FallbackSite, RowState, ScanRun, SiteState
from audit.scanner.ptx.driver import parts_of
from audit.selectors.sites import site_is_open
from audit.services.driver_answers import driver_label
from audit.services.scan_requests import scan_run_request
from migrations_tracker.lifecycle import Cause, Situation, Status, check, fitting
from migrations_tracker.models import SiteMigration, Transition
from migrations_tracker.services.scans import row_wake
from migrations_tracker.services.site_migrations import site_migrations_move_by_scan
from workers.models import Verification, VerificationJob, VerifiedFunction
from workers.protocol.job import JobKind
from workers.protocol.outcome import PROVED
from workers.selectors.verifications import SAYS_NOTHING, verdicts_standing
from workers.services.expiry import has_proof_to_check, verifications_expire

DISPATCH_TASK = "migrations_tracker.tasks.verification_jobs_dispatch"
EXPIRE_TASK = "migrations_tracker.tasks.verification_expire"
HEAR_TASK = "migrations_tracker.tasks.driver_answers_hear"
PROOF_OVER = "The function, or something that it calls, is not the code that ran on a GPU any more."
_PROOFS = frozenset(verdict.value for verdict in PROVED)

log = logging.getLogger(__name__)


def verification_follow_up(job: VerificationJob, verifications: list[Verification]) -> None:
    """Move migrations whose sites were proved, or are no longer, and give the free runner its next job."""
    for verification in verifications:
        if verification.verdict in _PROOFS:
            _prove(verification)
        elif verification.verdict not in SAYS_NOTHING:
            _disprove(verification)
    if job.kind == JobKind.PTX:
        transaction.on_commit(lambda: current_app.send_task(HEAR_TASK), robust=True)
    dispatch_wake()


def driver_answers_hear() -> int:
    """Have commits scanned again whose scans did not hear what drivers answered since; return how many.

    Each branch's last commit is asked for once by each judge, however often this runs.
    """
    count = 0
    asked = DriverAnswer.objects.values("repository")
    for branch in Branch.objects.filter(repository__in=asked, last_scan__isnull=False).select_related(
        "repository", "last_scan__commit"
    ):
        last = branch.last_scan
        if last is None or parts_of(last.ptxas_version)[1] == driver_label(repository=branch.repository):
            continue
        try:
            scan_run = scan_run_request(
                repository=branch.repository, commit=last.commit, branch=branch, actor=None, tries_again=False
            )
        except AuditError as error:
            log.warning("%s of %s can not be scanned again: %s", branch, branch.repository, error)
            continue
        if scan_run.state == RowState.PENDING:
            row_wake(row=scan_run)
            count += 1
    return count


def dispatch_wake() -> None:
    """Have waiting jobs given to free runners, once what was written is there to be seen."""
    transaction.on_commit(lambda: current_app.send_task(DISPATCH_TASK), robust=True)


def expiry_wake(*, scan_run: ScanRun) -> None:
    """Have proof looked at that a new scan of the default branch may have ended."""
    if has_proof_to_check(scan_run=scan_run):
        transaction.on_commit(
            lambda: current_app.send_task(EXPIRE_TASK, kwargs={"pk": scan_run.pk}), robust=True
        )


def proof_expire(*, scan_run: ScanRun) -> int:
    """End the proof whose code a scan saw changed, and what rested on it alone; return how much ended."""
    return verifications_expire(scan_run=scan_run, after=_unverify)


def _unverify(scan_run: ScanRun) -> None:
    """Take sites out of verified about whose function no proof stands any more."""
    verified = SiteMigration.objects.filter(
        status=Status.VERIFIED.value, site__repository=scan_run.repository_id
    )
    site_migrations_move_by_scan(
        sites=[site.pk for site in _unproved(verified)],
        sources=(Status.VERIFIED,),
        to=Status.MIGRATED,
        scan_run=scan_run,
        is_seen=False,
        reason=PROOF_OVER,
    )


def _unproved(migrations: QuerySet[SiteMigration]) -> list[FallbackSite]:
    """List the sites of migrations that no verdict which stands bears out."""
    sites = list(FallbackSite.objects.filter(migration__in=migrations).order_by("pk"))
    if not sites:
        return []
    outcomes = _outcomes(sites)
    standing = verdicts_standing(
        repository_id=sites[0].repository_id, symbols=[site.symbol for site in sites]
    )
    return [
        site for site in sites if fitting(outcomes.get(site.pk, "")).isdisjoint(standing.get(site.symbol, ()))
    ]


def _outcomes(sites: Sequence[FallbackSite]) -> dict[int, str]:
    """Return what became of sites that are gone from the default branch."""
    states = SiteState.objects.filter(
        site__in=[site.pk for site in sites],
        is_open=False,
        branch__name=F("branch__repository__default_branch"),
    )
    return dict(states.values_list("site_id", "outcome"))


def _disprove(verification: Verification) -> None:
    """Take sites out of verified that rested on an earlier run of a test, which shows the contrary now."""
    verified = SiteMigration.objects.filter(
        status=Status.VERIFIED.value,
        site__repository=verification.repository_id,
        site__symbol__in=VerifiedFunction.objects.filter(verification=verification).values("symbol"),
    )
    unproved = [site.pk for site in _unproved(verified)]
    for migration in SiteMigration.objects.select_for_update().filter(
        site__in=unproved, status=Status.VERIFIED.value
    ):
        _move(migration, verification, Status.MIGRATED)


def _prove(verification: Verification) -> None:
    """Move the migrations of sites in the functions about which the verification is the proof that fits."""
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
    moving = [migration for migration in migrations if migration.site is not None]
    outcomes = _outcomes([migration.site for migration in moving if migration.site is not None])
    for migration in moving:
        is_fitting = verification.verdict in fitting(outcomes.get(migration.site_id or 0, ""))
        if migration.site is not None and is_fitting and not site_is_open(site=migration.site):
            _move(migration, verification, Status.VERIFIED)


def _move(migration: SiteMigration, verification: Verification, to: Status) -> None:
    is_proof = to is Status.VERIFIED
    situation = Situation(has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=is_proof)
    check(Status(migration.status), to, Cause.GPU, situation)
    before, migration.status = migration.status, to.value
    migration.version += 1
    migration.save(update_fields=["status", "version", "changed_at"])
    Transition.objects.create(
        site_migration=migration,
        from_status=before,
        to_status=to.value,
        cause=Cause.GPU.value,
        reason=f"Verification {verification.pk}: {verification.test} is {verification.verdict}. "
        f"{verification.reason}",
    )

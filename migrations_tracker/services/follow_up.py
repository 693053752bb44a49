"""What a stored scan means for the plan."""

from __future__ import annotations

from collections.abc import Sequence

from audit.models import Branch, BranchScan, ScanRun, SiteState
from audit.scanner.report import Outcome
from audit.services.copying import ids_among
from audit.services.gaps import GapChanges
from audit.services.imported_audits import imported_audits_match_scan
from audit.services.ingest import IngestSummary
from migrations_tracker.lifecycle import AT_WORK, Status
from migrations_tracker.services.nightly_verifications import changes_ask
from migrations_tracker.services.site_migrations import site_migrations_move_by_scan, site_migrations_open
from migrations_tracker.services.suppressions import suppression_end
from migrations_tracker.services.verification_follow_up import expiry_wake

FOUND = "Found by a scan."
REOPENED = "The scanner sees the site again."
SUPPRESSION_OVER = "The scanner no longer sees the site, so its suppression ended."
SITE_MIGRATED = "The scanner no longer sees the site, and saw what became of it: {outcome}."
GAP_FOUND = "A scan found that PyTorch computes the case on the device and the code does not."
GAP_REOPENED = "The gap is open again."
GAP_CLOSED = "A scan found that the case is computed on the device: {outcome}."
GAP_SUPPRESSION_OVER = "The gap is closed, so its suppression ended."
# A case that no code serves any more is not computed on the device: whether that is right, a person says.
MIGRATED = frozenset(outcome.value for outcome in Outcome if outcome is not Outcome.REMOVED)
_COMPUTED = frozenset({Outcome.DEVICE_KERNEL.value, Outcome.COMPOSITE.value})


def scan_run_follow_up(summary: IngestSummary) -> None:
    """Begin migrations for new sites, reopen those that came back, and end suppressions of sites gone.

    Only the default branch speaks for the plan. A site that is gone is migrated where the scan saw what
    became of it; one whose code was removed, or of which that is not known, waits for a person.
    """
    if summary.gaps is not None:
        gaps_follow_up(scan_run=summary.scan_run, changes=summary.gaps)
    imported_audits_match_scan(scan_run=summary.scan_run)
    if summary.branch is None or summary.branch.name != summary.branch.repository.default_branch:
        return
    scan_run = summary.scan_run
    seen = (*summary.new_sites, *summary.reopened_sites)
    site_migrations_open(sites=seen, scan_run=scan_run, reason=FOUND)
    sites_reopen(sites=seen, scan_run=scan_run)
    sites_gone_follow_up(sites=summary.absent_sites, scan_run=scan_run)
    _sites_migrated(sites=summary.absent_sites, scan_run=scan_run, branch=summary.branch)
    expiry_wake(scan_run=scan_run)
    changes_ask(scan_run=scan_run, branch=summary.branch)


def sites_gone_follow_up(*, sites: Sequence[int], scan_run: ScanRun) -> None:
    """End the suppressions of sites that are no longer seen on the default branch."""
    site_migrations_move_by_scan(
        sites=sites,
        sources=(Status.SUPPRESSED,),
        to=Status.OPEN,
        scan_run=scan_run,
        is_seen=False,
        reason=SUPPRESSION_OVER,
    )
    suppression_end(sites=sites, because=SUPPRESSION_OVER)


def _sites_migrated(*, sites: Sequence[int], scan_run: ScanRun, branch: Branch) -> None:
    """Move the migrations of sites that are gone with an outcome which is the policy's own.

    Where the code is the same and the scanner is another, nobody has migrated anything.
    """
    scans = BranchScan.objects.filter(scan_run=scan_run, branch=branch)
    # A branch that is put back stands at the same scan twice.
    if not sites or scans.select_related("scan_run", "previous__scan_run").latest("pk").is_same_code:
        return
    told = SiteState.objects.filter(
        branch=branch, site__in=ids_among(sites), is_open=False, outcome__in=MIGRATED
    ).values_list("outcome", "site_id")
    by_outcome: dict[str, list[int]] = {}
    for outcome, site in told.order_by("site_id"):
        by_outcome.setdefault(outcome, []).append(site)
    for outcome in sorted(by_outcome):
        sites_migrate(sites=by_outcome[outcome], scan_run=scan_run, outcome=outcome)


def sites_migrate(*, sites: Sequence[int], scan_run: ScanRun, outcome: str) -> None:
    """Move the migrations of sites that a scan saw gone, and saw what became of them."""
    site_migrations_move_by_scan(
        sites=sites,
        sources=AT_WORK,
        to=Status.MIGRATED,
        scan_run=scan_run,
        is_seen=False,
        reason=SITE_MIGRATED.format(outcome=outcome),
    )


def sites_reopen(*, sites: Sequence[int], scan_run: ScanRun) -> None:
    """Reopen the migrations of sites that were done with and are seen again."""
    site_migrations_move_by_scan(
        sites=sites,
        sources=(Status.MIGRATED, Status.VERIFIED),
        to=Status.REOPENED,
        scan_run=scan_run,
        is_seen=True,
        reason=REOPENED,
    )


def gaps_follow_up(*, scan_run: ScanRun, changes: GapChanges) -> None:
    """Begin the migrations of open gaps, and move those of gaps that a scan closed or opened again."""
    site_migrations_open(gaps=changes.open, scan_run=scan_run, reason=GAP_FOUND)
    site_migrations_move_by_scan(
        gaps=changes.reopened,
        sources=(Status.MIGRATED, Status.VERIFIED),
        to=Status.REOPENED,
        scan_run=scan_run,
        is_seen=True,
        reason=GAP_REOPENED,
    )
    closed = tuple(changes.closed)
    site_migrations_move_by_scan(
        gaps=closed,
        sources=(Status.SUPPRESSED,),
        to=Status.OPEN,
        scan_run=scan_run,
        is_seen=False,
        reason=GAP_SUPPRESSION_OVER,
    )
    suppression_end(gaps=closed, because=GAP_SUPPRESSION_OVER)
    for outcome in sorted(_COMPUTED):
        site_migrations_move_by_scan(
            gaps=[gap for gap in closed if changes.closed[gap] == outcome],
            sources=AT_WORK,
            to=Status.MIGRATED,
            scan_run=scan_run,
            is_seen=False,
            reason=GAP_CLOSED.format(outcome=outcome),
        )

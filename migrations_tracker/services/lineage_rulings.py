"""What a ruling about a site's identity means for the plan."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import BranchScan, FallbackSite, Lineage, LineageDecision, LineageRuling, ScanRun
from audit.selectors.sites import site_is_open
from audit.services.lineage_merging import lineage_merge, lineage_merge_undo
from audit.services.lineage_rulings import lineage_confirm, lineage_ruling_undo, lineage_split
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration, Suppression
from migrations_tracker.services.follow_up import sites_gone_follow_up
from migrations_tracker.services.site_migrations import site_migrations_move_by_scan, site_migrations_open

SPLIT_OFF = "A person ruled that it is a site of its own."
MERGED = "A person ruled that a site which the scanner sees is this one."


def lineage_rule(*, lineage: Lineage, decision: LineageDecision, actor: User, reason: str) -> LineageRuling:
    """Rule about a link; a site that is split off begins a migration of its own."""
    if decision is LineageDecision.SAME:
        return lineage_confirm(lineage=lineage, actor=actor, reason=reason)
    with transaction.atomic():
        ruling = lineage_split(lineage=lineage, actor=actor, reason=reason)
        default = lineage.site.repository.default_branch
        is_planned = BranchScan.objects.filter(scan_run=lineage.scan_run, branch__name=default).exists()
        if ruling.split_site_id is not None and is_planned:
            site_migrations_open(sites=[ruling.split_site_id], scan_run=lineage.scan_run, reason=SPLIT_OFF)
        _gone_follow_up(lineage.scan_run, ruling.site)
    return ruling


def lineage_join(*, later: FallbackSite, earlier: FallbackSite, actor: User, reason: str) -> LineageRuling:
    """Rule that a site is one that was known before; the earlier one's migration goes on.

    What somebody has begun for the later one would be lost from sight: they take it back first.
    """
    with transaction.atomic():
        begun = SiteMigration.objects.filter(site=later).exclude(status=Status.OPEN.value).first()
        if begun is not None:
            raise PlanError(f"Site #{later.pk} is `{begun.status}` in the plan. Move it back to open first.")
        asked = Suppression.objects.filter(site=later, ended_at=None).first()
        if asked is not None:
            raise PlanError(
                f"{asked.requested_by} asks for a suppression of site #{later.pk}: answer that first."
            )
        ruling = lineage_merge(later=later, earlier=earlier, actor=actor, reason=reason)
        if site_is_open(site=earlier):
            site_migrations_move_by_scan(
                sites=[earlier.pk],
                sources=(Status.MIGRATED, Status.VERIFIED),
                to=Status.REOPENED,
                scan_run=ruling.lineage.scan_run,
                is_seen=True,
                reason=MERGED,
            )
    return ruling


def lineage_undo(*, ruling: LineageRuling, actor: User) -> None:
    """Take a ruling back, whichever it is."""
    with transaction.atomic():
        if ruling.decision == LineageDecision.MERGE:
            lineage_merge_undo(ruling=ruling, actor=actor)
        else:
            lineage_ruling_undo(ruling=ruling, actor=actor)
        _gone_follow_up(ruling.lineage.scan_run, ruling.site, ruling.split_site)


def _gone_follow_up(scan_run: ScanRun, *sites: FallbackSite | None) -> None:
    """End the suppressions of sites that a ruling leaves unseen: a suppression ends when its site is gone."""
    gone = [site.pk for site in sites if site is not None and not site_is_open(site=site)]
    if gone:
        sites_gone_follow_up(sites=gone, scan_run=scan_run)

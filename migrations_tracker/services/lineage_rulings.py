"""What a ruling about a site's identity means for the plan."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import BranchScan, Lineage, LineageDecision, LineageRuling
from audit.services.lineage_rulings import lineage_confirm, lineage_split
from migrations_tracker.services.site_migrations import site_migrations_open

SPLIT_OFF = "A person ruled that it is a site of its own."


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
    return ruling

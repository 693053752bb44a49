"""What a ruling about sites that are held means for the plan."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import HeldDrop
from audit.services.held_drops import drop_release
from migrations_tracker.services.follow_up import sites_gone_follow_up


def held_drop_release(*, drop: HeldDrop, actor: User, reason: str) -> int:
    """Rule that held sites are gone, and let the plan follow; return how many it closed."""
    with transaction.atomic():
        sites = drop_release(drop=drop, actor=actor, reason=reason)
        branch = drop.branch_scan.branch
        if branch.name == branch.repository.default_branch:
            sites_gone_follow_up(sites=sites, scan_run=drop.branch_scan.scan_run)
    return len(sites)

"""What a branch's history means for the plan."""

from __future__ import annotations

from collections.abc import Sequence

from audit.models import Branch, ScanRun
from migrations_tracker.services.follow_up import FOUND
from migrations_tracker.services.site_migrations import site_migrations_open


def history_follow_up(scan_run: ScanRun, branch: Branch, sites: Sequence[int]) -> None:
    """Begin migrations for the sites that the history of the default branch brought."""
    if branch.name == branch.repository.default_branch:
        site_migrations_open(sites=sites, scan_run=scan_run, reason=FOUND)

"""Drops that are held, for the people who rule about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from audit.models import HeldDrop, HeldSite, HoldState, Repository, SiteState

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class HeldSiteView:
    """A site of a drop, with its state on the branch."""

    held: HeldSite
    state: SiteState | None


@dataclass(frozen=True, slots=True)
class HeldPage:
    """A page of a drop's sites; `next` is 0 at the end, `held` counts those that are held still."""

    sites: Sequence[HeldSiteView]
    held: int
    total: int
    next: int = 0


def held_drops(*, repository: Repository, is_waiting: bool) -> QuerySet[HeldDrop]:
    """List a repository's drops, newest first: those that wait for a person, or those ruled about."""
    drops = HeldDrop.objects.filter(branch_scan__branch__repository=repository)
    waiting = Q(state=HoldState.WAITING)
    return (
        drops.filter(waiting if is_waiting else ~waiting)
        .annotate(held=Count("sites", filter=Q(sites__end="")))
        .select_related("branch_scan__branch", "branch_scan__scan_run__commit", "decided_by")
    )


def held_page(*, drop: HeldDrop, after: int = 0, is_held_only: bool = False) -> HeldPage:
    """List the sites of a drop, in the order in which they were held."""
    every = HeldSite.objects.filter(drop=drop)
    held = every.filter(end="").count()
    shown = every.filter(end="") if is_held_only else every
    rows = list(shown.filter(pk__gt=after).select_related("site").order_by("pk")[: PAGE_SIZE + 1])
    states = SiteState.objects.filter(
        branch=drop.branch_scan.branch_id, site__in=[row.site_id for row in rows]
    )
    by_site = {state.site_id: state for state in states}
    views = [HeldSiteView(row, by_site.get(row.site_id)) for row in rows[:PAGE_SIZE]]
    following = rows[PAGE_SIZE - 1].pk if len(rows) > PAGE_SIZE else 0
    return HeldPage(views, held, drop.site_count, following)


def held_count(*, repository: Repository) -> int:
    """Count the sites that wait for a person on any branch of a repository."""
    return HeldSite.objects.filter(
        end="", drop__state=HoldState.WAITING, drop__branch_scan__branch__repository=repository
    ).count()

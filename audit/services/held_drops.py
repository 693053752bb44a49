"""Holding sites that vanish without an outcome, until a scan tells more or a person has ruled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from audit.errors import AuditError
from audit.models import (
    Branch,
    BranchScan,
    HeldDrop,
    HeldSite,
    HeldSiteEnd,
    HoldState,
    ScanRun,
    SiteEvent,
    SiteEventKind,
    SiteState,
    SiteTally,
)
from audit.scanner.report import SiteOutcome
from audit.services.repository_lock import repository_lock
from audit.services.site_states import states_close


@dataclass(frozen=True, slots=True)
class Vanished:
    """What a scan looked for and did not see: closed by it, or held, of which some are held from now on."""

    closed: tuple[int, ...]
    held: tuple[int, ...]


def vanished_divide(
    *,
    absent: Iterable[int],
    outcomes: Mapping[int, SiteOutcome],
    held_before: Collection[int],
) -> Vanished:
    """Tell what a scan may close from what is held: it closes what it tells the outcome of, and no more."""
    absent = tuple(absent)
    closed = tuple(one for one in absent if one in outcomes)
    return Vanished(closed, tuple(one for one in absent if one not in outcomes and one not in held_before))


def held_sites(*, branch: Branch, before: int | None = None) -> set[int]:
    """Return the sites that are held on a branch, by scans `before` a position if one is given."""
    held = HeldSite.objects.filter(end="", drop__branch_scan__branch=branch)
    if before is not None:
        held = held.filter(drop__branch_scan__position__lt=before)
    return set(held.values_list("site_id", flat=True))


def drop_hold(*, branch_scan: BranchScan, sites: Collection[int], open_before: int) -> None:
    """Note that sites vanished at a scan and are held."""
    drop = HeldDrop.objects.create(branch_scan=branch_scan, open_before=open_before, site_count=len(sites))
    HeldSite.objects.bulk_create([HeldSite(drop=drop, site_id=site_id) for site_id in sites], batch_size=2000)


def holds_follow(*, branch: Branch, seen: Collection[int], closed: Collection[int]) -> None:
    """End the holds of sites that a scan saw, or of which it told what they became."""
    held = HeldSite.objects.filter(end="", drop__branch_scan__branch=branch)
    for end, sites in ((HeldSiteEnd.SEEN, seen), (HeldSiteEnd.OUTCOME, closed)):
        if sites:
            held.filter(site__in=list(sites)).update(end=end)


def drop_keep(*, drop: HeldDrop, actor: User, reason: str) -> None:
    """Rule that the sites of a drop are not gone: they stay open until a scan sees them or tells more."""
    with transaction.atomic():
        _decide(drop, (HoldState.WAITING,), HoldState.KEPT, actor, reason)


def drop_release(*, drop: HeldDrop, actor: User, reason: str) -> list[int]:
    """Rule that the sites of a drop are gone; return those that it closed.

    They end at the scan at which they vanished, without an outcome, and the branch's counts since follow.
    """
    with transaction.atomic():
        _decide(drop, (HoldState.WAITING, HoldState.KEPT), HoldState.RELEASED, actor, reason)
        at = BranchScan.objects.select_related("branch", "scan_run").get(pk=drop.branch_scan_id)
        held = HeldSite.objects.filter(drop=drop, end="")
        sites = list(held.order_by("site_id").values_list("site_id", flat=True))
        held.update(end=HeldSiteEnd.RELEASED)
        _end_at(at, sites)
    return sites


def held_site_merge(*, held: HeldSite) -> dict[str, Any]:
    """End a held site where it vanished, for a later one goes on as it; return what undoing that needs."""
    at = held.drop.branch_scan
    state = SiteState.objects.get(site_id=held.site_id, branch_id=at.branch_id)
    HeldSite.objects.filter(pk=held.pk).update(end=HeldSiteEnd.MERGED)
    _end_at(at, [held.site_id])
    return {"held": held.pk, "baseline_state": state.baseline_state, "result_id": state.result_id}


def held_site_resume(*, was: Mapping[str, Any]) -> None:
    """Hold a site again that was ended for a merge."""
    held = HeldSite.objects.select_related("drop__branch_scan__branch").get(pk=was["held"])
    at = held.drop.branch_scan
    state = SiteState.objects.filter(site_id=held.site_id, branch_id=at.branch_id)
    places = Counter(state.values_list("rule_id", "crate"))
    HeldSite.objects.filter(pk=held.pk).update(end="")
    SiteEvent.objects.filter(branch_scan=at, site_id=held.site_id, kind=SiteEventKind.CLOSED).delete()
    _count_as_closed(at, places, -1)
    state.update(
        is_open=True,
        closed_scan=None,
        baseline_state=was["baseline_state"],
        result_id=was["result_id"],
    )


def _end_at(at: BranchScan, sites: list[int]) -> None:
    """Close open sites at a scan of the past, without an outcome."""
    states = SiteState.objects.filter(branch=at.branch, site__in=sites, is_open=True)
    places = Counter(states.values_list("rule_id", "crate"))
    SiteEvent.objects.bulk_create(
        [SiteEvent(branch_scan=at, site_id=one, kind=SiteEventKind.CLOSED) for one in sites],
        batch_size=2000,
    )
    _count_as_closed(at, places, 1)
    states_close(branch=at.branch, scan_run=at.scan_run, site_ids=sites, outcomes={})


def _decide(drop: HeldDrop, sources: Collection[HoldState], to: HoldState, actor: User, reason: str) -> None:
    repository_lock(repository_id=drop.branch_scan.branch.repository_id)
    reason = reason.replace("\0", "").strip()
    if not reason:
        raise AuditError("Say why: whoever sees the counts later will ask.")
    decided = HeldDrop.objects.filter(pk=drop.pk, state__in=sources).update(
        state=to, reason=reason, decided_by=actor, decided_at=timezone.now()
    )
    if not decided:
        raise AuditError("Somebody has decided about this drop already. Look at it again.")
    drop.refresh_from_db()


def _count_as_closed(at: BranchScan, places: Counter[tuple[str, str]], change: int) -> None:
    """Count sites as closed instead of open at a scan and in the tallies since, or the other way round."""
    later = BranchScan.objects.filter(branch=at.branch_id, position__gte=at.position)
    total = places.total() * change
    later.update(open_count=F("open_count") - total)
    BranchScan.objects.filter(pk=at.pk).update(closed_count=F("closed_count") + total)
    ScanRun.objects.filter(pk=at.scan_run_id).update(absent_count=F("absent_count") + total)
    rows = list(later)
    for (rule_id, crate), count in places.items():
        for is_open, by in ((True, -count * change), (False, count * change)):
            of_place = SiteTally.objects.filter(
                branch_scan__in=rows, rule_id=rule_id, crate=crate, outcome="", is_open=is_open
            )
            known = set(of_place.values_list("branch_scan_id", flat=True))
            of_place.filter(count=-by).delete()
            of_place.update(count=F("count") + by)
            SiteTally.objects.bulk_create(
                SiteTally(
                    branch_scan=row, is_open=is_open, rule_id=rule_id, crate=crate, outcome="", count=by
                )
                for row in rows
                if row.pk not in known
            )

"""Holding sites that vanish without an outcome in an unusual number, until a person has looked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

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

DROP_AT_LEAST = 5
DROP_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Vanished:
    """What a scan looked for and did not see: closed by it, or held, of which some are held from now on."""

    closed: tuple[int, ...]
    held: tuple[int, ...]


def drop_is_suspicious(*, vanished: int, open_before: int) -> bool:
    """Whether so many sites vanished without a known outcome that a person is asked."""
    return vanished >= max(DROP_AT_LEAST, open_before * DROP_SHARE)


def vanished_divide(
    *,
    absent: Iterable[int],
    outcomes: Mapping[int, SiteOutcome],
    open_before: int,
    held_before: Collection[int],
) -> Vanished:
    """Tell what a scan may close from what is held: nothing with an outcome is, nor is a usual number.

    What is held already stays so, however few others vanish with it.
    """
    absent = tuple(absent)
    unexplained = [one for one in absent if one not in outcomes and one not in held_before]
    is_held = drop_is_suspicious(vanished=len(unexplained), open_before=open_before)
    fresh = tuple(unexplained) if is_held else ()
    stays = {*fresh, *(one for one in absent if one in held_before and one not in outcomes)}
    return Vanished(tuple(one for one in absent if one not in stays), fresh)


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
        states = SiteState.objects.filter(branch=at.branch, site__in=sites, is_open=True)
        places = Counter(states.values_list("rule_id", "crate"))
        held.update(end=HeldSiteEnd.RELEASED)
        SiteEvent.objects.bulk_create(
            [SiteEvent(branch_scan=at, site_id=one, kind=SiteEventKind.CLOSED) for one in sites],
            batch_size=2000,
        )
        later = BranchScan.objects.filter(branch=at.branch, position__gte=at.position)
        later.update(open_count=F("open_count") - len(sites))
        BranchScan.objects.filter(pk=at.pk).update(closed_count=F("closed_count") + len(sites))
        ScanRun.objects.filter(pk=at.scan_run_id).update(absent_count=F("absent_count") + len(sites))
        _count_as_closed(list(later), places)
        states_close(branch=at.branch, scan_run=at.scan_run, site_ids=sites, outcomes={})
    return sites


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


def _count_as_closed(rows: list[BranchScan], places: Counter[tuple[str, str]]) -> None:
    """Count sites as closed instead of open in the tallies of a branch's scans."""
    for (rule_id, crate), count in places.items():
        of_place = SiteTally.objects.filter(branch_scan__in=rows, rule_id=rule_id, crate=crate, outcome="")
        of_place.filter(is_open=True).update(count=F("count") - count)
        of_place.filter(is_open=True, count=0).delete()
        closed = of_place.filter(is_open=False)
        known = set(closed.values_list("branch_scan_id", flat=True))
        closed.update(count=F("count") + count)
        SiteTally.objects.bulk_create(
            SiteTally(branch_scan=row, is_open=False, rule_id=rule_id, crate=crate, outcome="", count=count)
            for row in rows
            if row.pk not in known
        )

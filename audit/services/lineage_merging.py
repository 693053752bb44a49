"""Ruling that a site which a scan took for a new one is a site that was known before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from audit.errors import AuditError
from audit.models import (
    BranchScan,
    FallbackSite,
    HeldSite,
    Lineage,
    LineageDecision,
    LineageRuling,
    Result,
    SiteEvent,
    SiteEventKind,
    SiteState,
)
from audit.services.held_drops import held_site_merge, held_site_resume
from audit.services.lineage_rulings import (
    STATE,
    check_open,
    clean,
    closed_count,
    form_of,
    form_set,
    hand_over,
)
from audit.services.repository_lock import repository_lock

_ENDED = ("first_seen_scan_id", "last_seen_scan_id", "closed_scan_id", "outcome", "outcome_evidence")


def lineage_merge(*, later: FallbackSite, earlier: FallbackSite, actor: User, reason: str) -> LineageRuling:
    """Rule that the later site is the earlier one: that gets its results and is open, or gone, as it is.

    Where the earlier one ended, or is held, as the later began, it went on; where it had ended before, it
    came back. The later one keeps its address and no more.
    """
    if not clean(reason):
        raise AuditError("Say why they are one site: the next person to look at it will ask.")
    with transaction.atomic():
        repository_lock(repository_id=later.repository_id)
        later.refresh_from_db()
        earlier.refresh_from_db()
        lineage = _beginning(later, earlier)
        check_open(lineage)
        was: dict[str, Any] = {"form": form_of(earlier), "branches": []}
        for begun in SiteEvent.objects.filter(site=later, kind=SiteEventKind.NEW).select_related(
            "branch_scan"
        ):
            was["branches"].append(_join_on_branch(begun, later, earlier))
        form_set(earlier, form_of(later))
        hand_over(lineage, later, earlier)
        return LineageRuling.objects.create(
            lineage=lineage,
            decision=LineageDecision.MERGE,
            site=earlier,
            merged_site=later,
            was=was,
            reason=clean(reason),
            actor=actor,
        )


def lineage_merge_undo(*, ruling: LineageRuling, actor: User) -> None:
    """Take a merge back: what was taken for the later site, and what followed, is its own again."""
    later, earlier = ruling.merged_site, ruling.site
    if later is None:
        raise AuditError("The ruling merged nothing.")
    with transaction.atomic():
        repository_lock(repository_id=earlier.repository_id)
        undone = LineageRuling.objects.filter(pk=ruling.pk, undone_at=None).update(
            undone_at=timezone.now(), undone_by=actor
        )
        if not undone:
            raise AuditError("The ruling was undone already.")
        earlier.refresh_from_db()
        if LineageRuling.objects.filter(site=earlier, undone_at=None, pk__gt=ruling.pk).exists():
            raise AuditError("There is a later ruling about the site. Undo that one first.")
        begun = {one["at"] for one in ruling.was["branches"]}
        scans = list(BranchScan.objects.filter(pk__in=begun))
        elsewhere = SiteEvent.objects.filter(
            site=earlier, branch_scan__created_at__gt=ruling.created_at
        ).exclude(branch_scan__branch__in=[scan.branch_id for scan in scans])
        if elsewhere.exists() or len(scans) != len(begun):
            raise AuditError(
                "The site was seen on another branch since: which of the two it is, nobody said."
            )
        for one in ruling.was["branches"]:
            _part_on_branch(one, later, earlier)
        form_set(later, form_of(earlier))
        form_set(earlier, ruling.was["form"])
        hand_over(ruling.lineage, earlier, later)


def _beginning(later: FallbackSite, earlier: FallbackSite) -> Lineage:
    """Return the link with which the later site began; raise where the two can't be one."""
    if later.pk == earlier.pk or later.repository_id != earlier.repository_id:
        raise AuditError("Name another site of the same repository.")
    lineage = Lineage.objects.filter(site=later).order_by("pk").first()
    if lineage is None:
        raise AuditError("No scan has seen the later site: there is nothing to merge.")
    first = Result.objects.filter(site=earlier).order_by("pk").first()
    if first is None or first.pk >= lineage.result_id:
        raise AuditError(f"Site #{earlier.pk} is not the earlier one of the two.")
    if Result.objects.filter(site=earlier, pk__gte=lineage.result_id).exists():
        raise AuditError(
            f"Site #{earlier.pk} was seen since #{later.pk} began: a scan that saw both saw two sites."
        )
    return lineage


def _join_on_branch(begun: SiteEvent, later: FallbackSite, earlier: FallbackSite) -> dict[str, Any]:
    """Make two sites of a branch's history one, and return what an undo needs."""
    at = begun.branch_scan
    rows = BranchScan.objects.filter(branch_id=at.branch_id, position__gte=at.position)
    held = (
        HeldSite.objects.filter(site=earlier, end="", drop__branch_scan__branch_id=at.branch_id)
        .filter(drop__branch_scan__position__lte=at.position)
        .select_related("drop__branch_scan__branch", "drop__branch_scan__scan_run")
        .first()
    )
    was_held = held_site_merge(held=held) if held is not None else None
    before = SiteEvent.objects.filter(site=earlier, branch_scan__branch_id=at.branch_id)
    ended = before.order_by("-branch_scan__position").select_related("branch_scan").first()
    if ended is not None and (ended.kind != SiteEventKind.CLOSED or ended.branch_scan.position > at.position):
        raise AuditError(f"Site #{earlier.pk} was open on {at.branch} when #{later.pk} began.")
    state = SiteState.objects.filter(site=earlier, branch_id=at.branch_id).first()
    kept = dict(_kept(state)) if state is not None else None
    went_on = ended is not None and ended.branch_scan_id == at.pk
    if ended is not None and state is not None:
        closed_count(rows, state, state.outcome, -1)
    if went_on and ended is not None:
        begun.delete()
        ended.delete()
        _change(at, new_count=-1, closed_count=-1)
    elif ended is not None:
        SiteEvent.objects.filter(pk=begun.pk).update(kind=SiteEventKind.REOPENED)
        _change(at, new_count=-1, reopened_count=1)
    SiteEvent.objects.filter(site=later, branch_scan__in=rows).update(site=earlier)
    if state is not None:
        state.delete()
    own = SiteState.objects.filter(site=later, branch_id=at.branch_id)
    own.update(site=earlier, **({"first_seen_scan_id": kept["first_seen_scan_id"]} if kept else {}))
    return {
        "at": at.pk,
        "went_on": went_on,
        "came_back": ended is not None and not went_on,
        "state": kept,
        "held": was_held,
    }


def _part_on_branch(one: Mapping[str, Any], later: FallbackSite, earlier: FallbackSite) -> None:
    """Take back what a merge did to a branch's history and its states."""
    at = BranchScan.objects.get(pk=one["at"])
    rows = BranchScan.objects.filter(branch_id=at.branch_id, position__gte=at.position)
    SiteEvent.objects.filter(site=earlier, branch_scan__in=rows).update(site=later)
    kept = one["state"]
    if one["went_on"]:
        SiteEvent.objects.create(branch_scan=at, site=later, kind=SiteEventKind.NEW)
        SiteEvent.objects.create(
            branch_scan=at,
            site=earlier,
            kind=SiteEventKind.CLOSED,
            outcome=kept["outcome"],
            outcome_evidence=kept["outcome_evidence"],
        )
        _change(at, new_count=1, closed_count=1)
    elif one["came_back"]:
        SiteEvent.objects.filter(site=later, branch_scan=at).update(kind=SiteEventKind.NEW)
        _change(at, new_count=1, reopened_count=-1)
    own = SiteState.objects.filter(site=earlier, branch_id=at.branch_id)
    own.update(site=later, first_seen_scan_id=at.scan_run_id)
    if kept is not None:
        state = SiteState.objects.create(site=earlier, branch_id=at.branch_id, is_open=False, **kept)
        closed_count(rows, state, state.outcome, 1)
    if one.get("held"):
        held_site_resume(was=one["held"])


def _kept(state: SiteState) -> Iterator[tuple[str, Any]]:
    for name in (*STATE, *_ENDED, "baseline_state"):
        yield name, getattr(state, name)


def _change(at: BranchScan, **counts: int) -> None:
    BranchScan.objects.filter(pk=at.pk).update(**{name: F(name) + by for name, by in counts.items()})

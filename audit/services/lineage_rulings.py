"""Ruling about how a site was recognised: the same, another one, or neither any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from audit.errors import AuditError
from audit.models import (
    BranchScan,
    FallbackSite,
    Lineage,
    LineageDecision,
    LineageRuling,
    Result,
    SiteEvent,
    SiteEventKind,
    SiteState,
    SiteTally,
)
from audit.scanner.matching import MatchPass
from audit.scanner.report import BaselineState
from audit.services.repository_lock import repository_lock

_FORM = ("rule_id", "symbol", "path", "partial_fingerprints")
STATE = ("rule_id", "level", "crate", "path", "start_line", "end_line", "symbol", "form", "message")


def lineage_confirm(*, lineage: Lineage, actor: User, reason: str = "") -> LineageRuling:
    """Rule that a result is the site it was taken for."""
    with transaction.atomic():
        repository_lock(repository_id=lineage.site.repository_id)
        check_open(lineage)
        return LineageRuling.objects.create(
            lineage=lineage,
            decision=LineageDecision.SAME,
            site_id=lineage.site_id,
            reason=clean(reason),
            actor=actor,
        )


def lineage_split(*, lineage: Lineage, actor: User, reason: str) -> LineageRuling:
    """Rule that from a result on it is another site: it gets what was taken for the old one since.

    The old site ends where the new one begins, without an outcome: what became of it is not known.
    """
    if not clean(reason):
        raise AuditError("Say why it is another site: the next person to look at it will ask.")
    with transaction.atomic():
        repository_lock(repository_id=lineage.site.repository_id)
        check_open(lineage)
        site = lineage.site
        before = Result.objects.filter(site=site, pk__lt=lineage.result_id).order_by("-pk").first()
        if before is None or lineage.match_pass == MatchPass.NEW.value:
            raise AuditError("The site begins with this result: there is nothing to split it from.")
        split = FallbackSite.objects.create(
            repository_id=site.repository_id,
            first_seen_scan_id=lineage.scan_run_id,
            form_commit_id=site.form_commit_id,
            **{name: getattr(site, name) for name in _FORM},
        )
        old = {name: getattr(before, name) for name in _FORM}
        form_set(site, old | {"form_commit_id": before.scan_run.commit_id})
        hand_over(lineage, site, split)
        for branch_scan in BranchScan.objects.filter(scan_run=lineage.scan_run):
            _split_on_branch(branch_scan, site, split, before)
        return LineageRuling.objects.create(
            lineage=lineage,
            decision=LineageDecision.NEW,
            site=site,
            split_site=split,
            reason=clean(reason),
            actor=actor,
        )


def lineage_ruling_undo(*, ruling: LineageRuling, actor: User) -> None:
    """Take a ruling back: what was split is one site again, and the other keeps its address and no more."""
    with transaction.atomic():
        repository_lock(repository_id=ruling.site.repository_id)
        undone = LineageRuling.objects.filter(pk=ruling.pk, undone_at=None).update(
            undone_at=timezone.now(), undone_by=actor
        )
        if not undone:
            raise AuditError("The ruling was undone already.")
        split = ruling.split_site
        if split is None:
            return
        if LineageRuling.objects.filter(site=split, undone_at=None).exists():
            raise AuditError(
                "There is a later ruling about the site that was split off. Undo that one first."
            )
        site = ruling.site
        form_set(site, form_of(split))
        for branch_scan in BranchScan.objects.filter(scan_run=ruling.lineage.scan_run):
            _join_on_branch(branch_scan, site, split)
        hand_over(ruling.lineage, split, site)


def check_open(lineage: Lineage) -> None:
    """Refuse a second ruling about a link while one stands."""
    if LineageRuling.objects.filter(lineage=lineage, undone_at=None).exists():
        raise AuditError("Somebody has ruled about this link. Undo that ruling first.")


def clean(reason: str) -> str:
    """Return a reason as it is kept."""
    return reason.replace("\0", "").strip()


def form_of(site: FallbackSite) -> dict[str, Any]:
    """Return the form in which a site is looked for."""
    return {name: getattr(site, name) for name in (*_FORM, "form_commit_id")}


def form_set(site: FallbackSite, form: Mapping[str, Any]) -> None:
    """Look for a site in this form from now on."""
    for name, value in form.items():
        setattr(site, name, value)
    site.save(update_fields=[*_FORM, "form_commit"])


def hand_over(lineage: Lineage, giver: FallbackSite, taker: FallbackSite) -> None:
    """Make what was taken for one site from a link on the other's."""
    moved = Lineage.objects.filter(site=giver, pk__gte=lineage.pk)
    Result.objects.filter(pk__in=list(moved.values_list("result_id", flat=True))).update(site=taker)
    moved.update(site=taker)


def _split_on_branch(at: BranchScan, site: FallbackSite, split: FallbackSite, before: Result) -> None:
    """End the old site and begin the new one in a branch's history and in its states."""
    later = BranchScan.objects.filter(branch=at.branch, position__gte=at.position)
    SiteEvent.objects.filter(site=site, branch_scan__in=later).update(site=split)
    SiteEvent.objects.create(branch_scan=at, site=split, kind=SiteEventKind.NEW)
    SiteEvent.objects.create(branch_scan=at, site=site, kind=SiteEventKind.CLOSED)
    BranchScan.objects.filter(pk=at.pk).update(
        new_count=F("new_count") + 1, closed_count=F("closed_count") + 1
    )
    closed_count(later, before, "", 1)
    state = SiteState.objects.filter(site=site, branch=at.branch).first()
    if state is None:
        return
    first_seen = state.first_seen_scan_id
    SiteState.objects.filter(pk=state.pk).update(site=split, first_seen_scan=at.scan_run)
    SiteState.objects.create(
        site=site,
        branch=at.branch,
        is_open=False,
        baseline_state=BaselineState.ABSENT.value,
        first_seen_scan_id=first_seen,
        last_seen_scan_id=before.scan_run_id,
        closed_scan=at.scan_run,
        **{name: getattr(before, name) for name in STATE},
    )


def _join_on_branch(at: BranchScan, site: FallbackSite, split: FallbackSite) -> None:
    """Take back what a split did to a branch's history and its states."""
    later = BranchScan.objects.filter(branch=at.branch, position__gte=at.position)
    SiteEvent.objects.filter(branch_scan=at, site=split, kind=SiteEventKind.NEW).delete()
    SiteEvent.objects.filter(branch_scan=at, site=site, kind=SiteEventKind.CLOSED).delete()
    SiteEvent.objects.filter(site=split, branch_scan__in=later).update(site=site)
    BranchScan.objects.filter(pk=at.pk).update(
        new_count=F("new_count") - 1, closed_count=F("closed_count") - 1
    )
    ended = SiteState.objects.filter(site=site, branch=at.branch).first()
    if ended is None:
        return
    closed_count(later, ended, "", -1)
    ended.delete()
    SiteState.objects.filter(site=split, branch=at.branch).update(
        site=site, first_seen_scan_id=ended.first_seen_scan_id
    )


def closed_count(rows: QuerySet[BranchScan], one: Result | SiteState, outcome: str, change: int) -> None:
    """Count one closed site more, or fewer, in the tallies of a branch from a scan on."""
    for row in rows:
        key = {
            "branch_scan": row,
            "is_open": False,
            "rule_id": one.rule_id,
            "crate": one.crate,
            "outcome": outcome,
        }
        tally, _ = SiteTally.objects.get_or_create(**key, defaults={"count": 0})
        if tally.count + change:
            SiteTally.objects.filter(pk=tally.pk).update(count=F("count") + change)
        else:
            tally.delete()

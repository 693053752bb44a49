"""What was said about which results a site is, and which earlier sites it may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, IntegerField, OuterRef, Q, Subquery, Value, When

from audit.models import FallbackSite, HeldSite, Lineage, LineageRuling, SiteEvent, SiteEventKind, SiteState
from audit.scanner.matching import FAMILIES, MatchPass

CANDIDATES_SHOWN = 8
LINKS_SHOWN = 20
_SURE = (MatchPass.FINGERPRINT.value, MatchPass.NEW.value)


@dataclass(frozen=True, slots=True)
class SiteIdentity:
    """A site's rulings, newest first, its links that are not by fingerprint, and what it may have been."""

    rulings: Sequence[LineageRuling]
    links: Sequence[Lineage]
    candidates: Sequence[SiteState]
    is_seen: bool


def site_identity(*, site: FallbackSite) -> SiteIdentity:
    """Gather what was said about a site's identity, and what a person may say."""
    rulings = LineageRuling.objects.filter(Q(site=site) | Q(split_site=site) | Q(merged_site=site))
    links = Lineage.objects.filter(site=site).exclude(match_pass__in=_SURE)
    begun = list(
        SiteEvent.objects.filter(site=site, kind=SiteEventKind.NEW).select_related("branch_scan")[:20]
    )
    return SiteIdentity(
        rulings=list(rulings.select_related("actor", "undone_by", "site", "split_site", "merged_site")),
        links=list(links.select_related("scan_run", "to_commit", "result").order_by("-id")[:LINKS_SHOWN]),
        candidates=_candidates(site, begun),
        is_seen=Lineage.objects.filter(site=site).exists(),
    )


def _candidates(site: FallbackSite, begun: Sequence[SiteEvent]) -> list[SiteState]:
    """Return the sites that were gone or held when this one began: what went with it first, the nearest."""
    if not begun:
        return []
    family = next((one for one in FAMILIES if site.rule_id in one), {site.rule_id})
    crate = Q(crate=SiteState.objects.filter(site=site).values("crate")[:1])
    at = [event.branch_scan.scan_run_id for event in begun]
    held = HeldSite.objects.filter(
        site=OuterRef("site"), end="", drop__branch_scan__branch=OuterRef("branch")
    ).order_by("-pk")
    nearness = Case(
        When(closed_scan__in=at, then=Value(0)),
        When(held_scan__in=at, then=Value(0)),
        When(path=site.path, then=Value(1)),
        When(crate, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return list(
        SiteState.objects.annotate(
            held_scan=Subquery(held.values("drop__branch_scan__scan_run")[:1]),
            held_commit=Subquery(held.values("drop__branch_scan__scan_run__commit__object_id")[:1]),
        )
        .filter(
            Q(is_open=False) | Q(held_scan__isnull=False),
            branch__in=[event.branch_scan.branch_id for event in begun],
            rule_id__in=family,
            last_seen_scan_id__lt=max(event.branch_scan.scan_run_id for event in begun),
        )
        .exclude(site=site)
        .select_related("closed_scan__commit")
        .order_by(nearness, "-closed_scan_id", "site_id")[:CANDIDATES_SHOWN]
    )

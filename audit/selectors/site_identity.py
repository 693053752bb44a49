"""What was said about which results a site is, and which earlier sites it may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, IntegerField, Q, Value, When

from audit.models import FallbackSite, Lineage, LineageRuling, SiteEvent, SiteEventKind, SiteState
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
    """Return the sites that were gone when this one began: what ended with it first, and the nearest."""
    if not begun:
        return []
    family = next((one for one in FAMILIES if site.rule_id in one), {site.rule_id})
    crate = Q(crate=SiteState.objects.filter(site=site).values("crate")[:1])
    nearness = Case(
        When(closed_scan__in=[event.branch_scan.scan_run_id for event in begun], then=Value(0)),
        When(path=site.path, then=Value(1)),
        When(crate, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return list(
        SiteState.objects.filter(
            branch__in=[event.branch_scan.branch_id for event in begun],
            is_open=False,
            rule_id__in=family,
            last_seen_scan_id__lt=max(event.branch_scan.scan_run_id for event in begun),
        )
        .exclude(site=site)
        .select_related("closed_scan__commit")
        .order_by(nearness, "-closed_scan_id", "site_id")[:CANDIDATES_SHOWN]
    )

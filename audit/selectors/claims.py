"""What a commit claims, held against what its scan measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from audit.claims import finding
from audit.claims.bearing import BEARING_LABELS, FALLBACK_RULES, Held, Measured, Place, hold_claims
from audit.claims.kinds import KIND_LABELS, ClaimKind
from audit.models import BranchScan, Claim, Result, ScanRun, SiteEvent, SiteEventKind

PLACES_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as a page shows it."""

    source: str
    held: Held

    @property
    def kind(self) -> str:
        """What kind of claim it is, in words."""
        return KIND_LABELS[self.held.claim.kind]

    @property
    def bearing(self) -> str:
        """How it stands, in words."""
        return BEARING_LABELS[self.held.bearing]


def claims_of(*, scan_run: ScanRun) -> list[ClaimView]:
    """List what the commit of a scan claims, each held against what the scan measured."""
    rows = list(Claim.objects.filter(commit=scan_run.commit_id))
    if not rows:
        return []
    claims = [
        finding.Claim(ClaimKind(row.kind), row.text, row.line, row.count, tuple(row.names)) for row in rows
    ]
    held = hold_claims(claims, _measured(scan_run, claims))
    return [ClaimView(row.get_source_display(), one) for row, one in zip(rows, held, strict=True)]


def _measured(scan_run: ScanRun, claims: Iterable[finding.Claim]) -> Measured:
    moved = BranchScan.objects.filter(scan_run=scan_run).order_by("pk").first()
    events = (
        SiteEvent.objects.filter(branch_scan=moved).select_related("site")[:PLACES_AT_MOST] if moved else []
    )
    ended, new_sites = [], []
    for event in events:
        site = event.site
        if event.kind == SiteEventKind.CLOSED:
            ended.append(Place(site.rule_id, site.path, 1, site.symbol, event.outcome))
        else:
            new_sites.append(site.pk)
    results = Result.objects.filter(scan_run=scan_run, rule_id__in=FALLBACK_RULES)
    standing = _places(results.filter(_speaks_of(claims)))
    return Measured(ended, _places(results.filter(site__in=new_sites)), standing)


def _speaks_of(claims: Iterable[finding.Claim]) -> Q:
    """Narrow to what the claims can be held against: the code they name, or all."""
    claims = list(claims)
    if any(claim.kind is ClaimKind.COVERAGE for claim in claims):
        return Q()
    names = {re.escape(finding.last_part(name)) for claim in claims for name in claim.names}
    if not names:
        return Q(pk=None)
    return Q(symbol__iregex=rf"::(gpu_|cuda_|cpu_)?({'|'.join(sorted(names))})($|::|<)")


def _places(results: QuerySet[Result]) -> list[Place]:
    rows = results.values_list("rule_id", "path", "start_line", "symbol")[:PLACES_AT_MOST]
    return [Place(*row) for row in rows]

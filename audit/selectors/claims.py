"""What a commit claims, held against what its scan measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import F, Q, QuerySet

from audit.claims import finding
from audit.claims.bearing import BEARING_LABELS, FALLBACK_RULES, Held, Measured, Place, hold_claims
from audit.claims.descriptions import told_by
from audit.claims.kinds import KIND_LABELS, ClaimKind
from audit.models import (
    BranchScan,
    Claim,
    PullRequestCheck,
    Result,
    RowState,
    ScanRun,
    SiteEvent,
    SiteEventKind,
)

PLACES_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as a page shows it."""

    source: str
    held: Held
    url: str = ""

    @property
    def kind(self) -> str:
        """What kind of claim it is, in words."""
        return KIND_LABELS[self.held.claim.kind]

    @property
    def bearing(self) -> str:
        """How it stands, in words."""
        return BEARING_LABELS[self.held.bearing]


def claims_of(*, scan_run: ScanRun) -> list[ClaimView]:
    """List what the commit of a scan claims, each held against what the scan measured.

    What pull requests say whose head it is comes first: that is held against their base.
    """
    described = [view for check in _checks_at(scan_run) for view in description_claims_of(check=check)]
    rows = list(Claim.objects.filter(commit=scan_run.commit_id))
    if not rows:
        return described
    claims = [
        finding.Claim(ClaimKind(row.kind), row.text, row.line, row.count, tuple(row.names)) for row in rows
    ]
    held = hold_claims(claims, _measured(scan_run, claims))
    views = [ClaimView(row.get_source_display(), one) for row, one in zip(rows, held, strict=True)]
    return described + views


def _checks_at(scan_run: ScanRun) -> QuerySet[PullRequestCheck]:
    checks = PullRequestCheck.objects.filter(head_scan=scan_run, state=RowState.SUCCEEDED)
    current = checks.filter(pull_request__head_id=F("head_id"), pull_request__base_id=F("base_id"))
    return current.select_related("pull_request").order_by("pull_request__number")


def description_claims_of(*, check: PullRequestCheck) -> list[ClaimView]:
    """List what title and description of a pull request claim, held against its head and its base."""
    row = check.pull_request
    claims = finding.find_claims(f"{row.title}\n\n{told_by(row.body)}")
    if not claims:
        return []
    sites = list(check.sites.select_related("site"))
    ended = [
        Place(one.site.rule_id, one.site.path, 1, one.site.symbol, one.outcome)
        for one in sites
        if not one.is_new
    ]
    results = Result.objects.filter(scan_run=check.head_scan_id, rule_id__in=FALLBACK_RULES)
    fresh = results.filter(site__in=[one.site_id for one in sites if one.is_new])
    measured = Measured(ended, _places(fresh), _places(results.filter(_speaks_of(claims))))
    return [_described(check, held) for held in hold_claims(claims, measured)]


def _described(check: PullRequestCheck, held: Held) -> ClaimView:
    row, line = check.pull_request, held.claim.line
    # The title is the first line of what was read, and an empty one follows it.
    where = "title" if line == 1 else "description"
    moved = replace(held, claim=replace(held.claim, line=max(line - 2, 1)))
    return ClaimView(f"pull request #{row.number}, {where}", moved, row.get_absolute_url())


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

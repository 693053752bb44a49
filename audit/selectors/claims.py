"""What a commit claims, held against what its scan measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import F, Q, QuerySet, Value

from audit.claims import finding
from audit.claims.bearing import BEARING_LABELS, FALLBACK_RULES, Held, Measured, Place, hold_claims
from audit.claims.descriptions import told_by
from audit.claims.kinds import KIND_LABELS, ClaimKind
from audit.models import (
    BranchScan,
    Claim,
    PullRequest,
    PullRequestCheck,
    PullRequestSite,
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
    described = _described_claims(_checks_at(scan_run))
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
    return _described_claims([check])


def _described_claims(checks: Iterable[PullRequestCheck]) -> list[ClaimView]:
    """List what pull requests claim, each held against its own head and base, in two queries for all."""
    claimed = {check: claims for check in checks if (claims := _claims_in(check.pull_request))}
    if not claimed:
        return []
    ended: dict[int, list[Place]] = {check.pk: [] for check in claimed}
    new_sites: dict[int, list[int]] = {check.pk: [] for check in claimed}
    moved = PullRequestSite.objects.filter(check_row__in=list(claimed)).order_by("pk")
    for pk, site_id, is_new, outcome, rule_id, path, symbol in moved.values_list(
        "check_row", "site", "is_new", "outcome", "site__rule_id", "site__path", "site__symbol"
    ):
        if is_new:
            new_sites[pk].append(site_id)
        else:
            ended[pk].append(Place(rule_id, path, 1, symbol, outcome))
    asked: list[QuerySet[Result]] = []
    for check, claims in claimed.items():
        results = Result.objects.filter(scan_run=check.head_scan_id, rule_id__in=FALLBACK_RULES)
        asked += [results.filter(site__in=new_sites[check.pk]), results.filter(_speaks_of(claims))]
    places = _places(*asked)
    views = []
    for number, (check, claims) in enumerate(claimed.items()):
        measured = Measured(ended[check.pk], places[2 * number], places[2 * number + 1])
        views += [_described(check, held) for held in hold_claims(claims, measured)]
    return views


def _claims_in(row: PullRequest) -> list[finding.Claim]:
    return list(finding.find_claims(f"{row.title}\n\n{told_by(row.body)}"))


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
    fresh, standing = _places(results.filter(site__in=new_sites), results.filter(_speaks_of(claims)))
    return Measured(ended, fresh, standing)


def _speaks_of(claims: Iterable[finding.Claim]) -> Q:
    """Narrow to what the claims can be held against: the code they name, or all."""
    claims = list(claims)
    if any(claim.kind is ClaimKind.COVERAGE for claim in claims):
        return Q()
    names = {re.escape(finding.last_part(name)) for claim in claims for name in claim.names}
    if not names:
        return Q(pk=None)
    return Q(symbol__iregex=rf"::(gpu_|cuda_|cpu_)?({'|'.join(sorted(names))})($|::|<)")


def _places(*asked: QuerySet[Result]) -> list[list[Place]]:
    """Return the places of results, those of each query apart, in one statement."""
    parts = [
        results.values_list(Value(number), "rule_id", "path", "start_line", "symbol")[:PLACES_AT_MOST]
        for number, results in enumerate(asked)
    ]
    places: list[list[Place]] = [[] for _ in asked]
    for number, *row in parts[0].union(*parts[1:], all=True):
        places[number].append(Place(*row))
    return places

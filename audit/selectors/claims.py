"""What a commit claims, held against what its scan measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import F, Q, QuerySet, Value

from audit.claims import finding
from audit.claims.bearing import BEARING_LABELS, FALLBACK_RULES, Held, Measured, Place, hold_claims
from audit.claims.descriptions import told_by
from audit.claims.kinds import KIND_LABELS, ClaimKind
from audit.models import (
    BranchScan,
    Claim,
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


@dataclass(frozen=True, slots=True)
class _Change:
    """What is claimed of a change, the scan of what it made, and the sites that came and ended with it."""

    claims: Sequence[finding.Claim]
    scan_run_id: int | None
    ended: list[Place] = field(default_factory=list)
    new_sites: list[int] = field(default_factory=list)


Claiming = Mapping[PullRequestCheck, Sequence[finding.Claim]]


def claims_of(*, scan_run: ScanRun) -> list[ClaimView]:
    """List what the commit of a scan claims, each held against what the scan measured.

    What pull requests say whose head it is comes first: that is held against their base.
    """
    checks = _claiming(_checks_at(scan_run))
    rows = list(Claim.objects.filter(commit=scan_run.commit_id))
    changes = _changes_of(checks)
    if rows:
        claims = [
            finding.Claim(ClaimKind(one.kind), one.text, one.line, one.count, tuple(one.names))
            for one in rows
        ]
        changes.append(_change_at(scan_run, claims))
    held = _hold(changes)
    views = _described(checks, held)
    if rows:
        views += [ClaimView(row.get_source_display(), one) for row, one in zip(rows, held[-1], strict=True)]
    return views


def _checks_at(scan_run: ScanRun) -> QuerySet[PullRequestCheck]:
    checks = PullRequestCheck.objects.filter(head_scan=scan_run, state=RowState.SUCCEEDED)
    current = checks.filter(pull_request__head_id=F("head_id"), pull_request__base_id=F("base_id"))
    return current.select_related("pull_request").order_by("pull_request__number")


def description_claims_of(*, check: PullRequestCheck) -> list[ClaimView]:
    """List what title and description of a pull request claim, held against its head and its base."""
    checks = _claiming([check])
    return _described(checks, _hold(_changes_of(checks)))


def _claiming(checks: Iterable[PullRequestCheck]) -> Claiming:
    """Return the checks whose pull requests claim something, with what they claim."""
    texts = ((check, f"{check.pull_request.title}\n\n{told_by(check.pull_request.body)}") for check in checks)
    return {check: claims for check, text in texts if (claims := finding.find_claims(text))}


def _changes_of(checks: Claiming) -> list[_Change]:
    """Return what each pull request brings and ends; they are read together."""
    changes = {check.pk: _Change(claims, check.head_scan_id) for check, claims in checks.items()}
    moved = PullRequestSite.objects.filter(check_row__in=list(changes)).order_by("pk")
    for pk, site_id, is_new, outcome, rule_id, path, symbol in moved.values_list(
        "check_row", "site", "is_new", "outcome", "site__rule_id", "site__path", "site__symbol"
    ):
        if is_new:
            changes[pk].new_sites.append(site_id)
        else:
            changes[pk].ended.append(Place(rule_id, path, 1, symbol, outcome))
    return list(changes.values())


def _change_at(scan_run: ScanRun, claims: Sequence[finding.Claim]) -> _Change:
    """Return what the commit of a scan brought and ended."""
    change = _Change(claims, scan_run.pk)
    moved = BranchScan.objects.filter(scan_run=scan_run).order_by("pk").values("pk")[:1]
    for event in SiteEvent.objects.filter(branch_scan__in=moved).select_related("site")[:PLACES_AT_MOST]:
        site = event.site
        if event.kind == SiteEventKind.CLOSED:
            change.ended.append(Place(site.rule_id, site.path, 1, site.symbol, event.outcome))
        else:
            change.new_sites.append(site.pk)
    return change


def _hold(changes: Sequence[_Change]) -> list[list[Held]]:
    """Hold the claims of each change against it; what stands in the code is read at once for all."""
    asked = []
    for change in changes:
        results = Result.objects.filter(scan_run=change.scan_run_id, rule_id__in=FALLBACK_RULES)
        asked += [results.filter(site__in=change.new_sites), results.filter(_speaks_of(change.claims))]
    places = _places(asked)
    return [
        list(hold_claims(change.claims, Measured(change.ended, fresh, standing)))
        for change, fresh, standing in zip(changes, places[::2], places[1::2], strict=True)
    ]


def _described(checks: Claiming, held: Sequence[Sequence[Held]]) -> list[ClaimView]:
    views = []
    for check, of_check in zip(checks, held, strict=False):
        row = check.pull_request
        for one in of_check:
            # The title is the first line of what was read, and an empty one follows it.
            where = "title" if one.claim.line == 1 else "description"
            moved = replace(one, claim=replace(one.claim, line=max(one.claim.line - 2, 1)))
            views.append(ClaimView(f"pull request #{row.number}, {where}", moved, row.get_absolute_url()))
    return views


def _speaks_of(claims: Iterable[finding.Claim]) -> Q:
    """Narrow to what the claims can be held against: the code they name, or all."""
    claims = list(claims)
    if any(claim.kind is ClaimKind.COVERAGE for claim in claims):
        return Q()
    names = {re.escape(finding.last_part(name)) for claim in claims for name in claim.names}
    if not names:
        return Q(pk=None)
    return Q(symbol__iregex=rf"::(gpu_|cuda_|cpu_)?({'|'.join(sorted(names))})($|::|<)")


def _places(asked: Sequence[QuerySet[Result]]) -> list[list[Place]]:
    """Return the places of results, those of each query apart, in one statement."""
    places: list[list[Place]] = [[] for _ in asked]
    parts = [
        results.values_list(Value(number), "rule_id", "path", "start_line", "symbol")[:PLACES_AT_MOST]
        for number, results in enumerate(asked)
    ]
    for number, *row in parts[0].union(*parts[1:], all=True) if parts else ():
        places[number].append(Place(*row))
    return places

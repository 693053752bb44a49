"""Recognising a repository's sites in the results of a scan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from audit.models import Branch, Result, RowState, ScanRun
from audit.scanner import report as scanner
from audit.scanner.matching import KnownSite, Match, MatchPass, match_results
from audit.scanner.report import BaselineState, ScanReport
from audit.selectors.sites import sites_of_their_own
from audit.services.copying import ids_among
from audit.services.coverage import Coverage
from audit.services.found_results import FoundState, Known, results_write, sites_of_matches
from audit.services.site_states import KnownState


@dataclass(frozen=True, slots=True)
class _Parents:
    """The sites as the commit's parents have them, the first parent's form before that of others."""

    forms: Mapping[int, KnownSite]
    commits: Mapping[int, int]
    are_all_scanned: bool


def results_recognise(
    *,
    scan_run: ScanRun,
    report: ScanReport,
    coverage: Coverage,
    states: Mapping[int, KnownState] | None,
    moves_sites: bool,
) -> list[FoundState]:
    """Store the results of a scan with the sites they are.

    A site is looked for in the form that it has in the commit's parents, where they were scanned, else in
    the form that was seen last. `states` are those of the branch that the scan moves on, if it does.
    """
    parents = _parents(scan_run)
    sites = _known_sites(scan_run, states or {}, parents, coverage)
    known = with_items_gone([known.site for known in sites.values()], report)
    matches = match_results(known, report.results, codes_of)
    found = [
        (
            site_id,
            _baseline(match, result, states, parents),
            result,
            match,
            None if match.site_id is None else sites[match.site_id],
        )
        for site_id, match, result in zip(sites_of_matches(matches), matches, report.results, strict=True)
    ]
    return results_write(scan_run=scan_run, found=found, moves_sites=moves_sites)


def _parents(scan_run: ScanRun) -> _Parents:
    """Read the sites of the parents' scans by the same judge.

    Where one branch moves on from its last scan, its sites are in that form already.
    """
    parent_ids = scan_run.commit.parent_ids
    scans = {
        scan.commit.object_id: scan
        for scan in ScanRun.objects.filter(
            repository_id=scan_run.repository_id,
            commit__object_id__in=parent_ids,
            state=RowState.SUCCEEDED,
            scanner_version=scan_run.scanner_version,
            profile_hash=scan_run.profile_hash,
            ptxas_version=scan_run.ptxas_version,
        )
        .order_by("id")
        .select_related("commit")
    }
    if _is_only_branch(scan_run, scans):
        return _Parents({}, {}, are_all_scanned=False)
    forms: dict[int, KnownSite] = {}
    commits: dict[int, int] = {}
    columns = ("site_id", "rule_id", "symbol", "path", "partial_fingerprints", "start_line")
    for parent_id in parent_ids:
        if parent_id not in scans:
            continue
        rows = Result.objects.filter(scan_run=scans[parent_id]).order_by().values_list(*columns)
        for site_id, rule_id, symbol, path, fingerprints, line in rows.iterator(chunk_size=10_000):
            form = KnownSite(
                site_id, rule_id, symbol, path, fingerprints, may_have_changed=True, start_line=line
            )
            forms.setdefault(site_id, form)
            commits.setdefault(site_id, scans[parent_id].commit_id)
    return _Parents(forms, commits, bool(parent_ids) and set(parent_ids) == set(scans))


def _is_only_branch(scan_run: ScanRun, parents: Mapping[str, ScanRun]) -> bool:
    moved = list(Branch.objects.filter(repository_id=scan_run.repository_id, last_scan__isnull=False)[:2])
    if len(moved) != 1 or moved[0].pk != scan_run.branch_id:
        return False
    return [scan.pk for scan in parents.values()] == [moved[0].last_scan_id]


def _known_sites(
    scan_run: ScanRun, states: Mapping[int, KnownState], parents: _Parents, coverage: Coverage
) -> dict[int, Known]:
    """The repository's sites as the matching sees them."""
    columns = ("id", "rule_id", "symbol", "path", "partial_fingerprints", "form_commit_id")
    rows = sites_of_their_own(repository_id=scan_run.repository_id).values_list(*columns)
    known: dict[int, Known] = {}
    for site_id, rule_id, symbol, path, fingerprints, commit_id in rows.iterator(chunk_size=10_000):
        state, form = states.get(site_id), parents.forms.get(site_id)
        if form is not None:
            can_see = coverage.could_see(rule_id=form.rule_id, path=form.path)
            is_gone = form.path not in coverage.files_known
            form = replace(form, may_have_changed=can_see, file_is_gone=is_gone)
            known[site_id] = Known(form, parents.commits[site_id])
            continue
        was_open = state.is_open if state is not None else not parents.are_all_scanned
        site = known_site((site_id, rule_id, symbol, path, fingerprints), state, coverage, was_open=was_open)
        known[site_id] = Known(site, commit_id if state is None else state.commit_id)
    return known


def known_site(
    row: tuple[int, str, str, str, dict[str, str]],
    state: KnownState | None,
    coverage: Coverage,
    *,
    was_open: bool,
) -> KnownSite:
    """Make of a row (id, rule, symbol, path, fingerprints) the site that results are matched with."""
    _, rule_id, _, path, _ = row
    return KnownSite(
        *row,
        may_have_changed=was_open and coverage.could_see(rule_id=rule_id, path=path),
        start_line=state.start_line if state is not None and state.path == path else 0,
        may_return=not was_open and path not in coverage.files_known,
        file_is_gone=path not in coverage.files_known,
    )


def with_items_gone(sites: Iterable[KnownSite], report: ScanReport) -> list[KnownSite]:
    """Return sites with what the scan says of the items they stood in."""
    gone = {key for key, told in report.outcomes.items() if told.item_is_gone}
    return [replace(site, item_is_gone=True) if site.site_id in gone else site for site in sites]


def codes_of(site_ids: Collection[int]) -> dict[int, str]:
    """Return the code that sites were last seen in."""
    rows = Result.objects.filter(site_id__in=ids_among(site_ids)).order_by("site_id", "-id")
    return dict(rows.distinct("site_id").values_list("site_id", "snippet"))


def _baseline(
    match: Match, result: scanner.Result, states: Mapping[int, KnownState] | None, parents: _Parents
) -> BaselineState:
    if match.site_id is None:
        return BaselineState.NEW
    is_same = match.match_pass is MatchPass.FINGERPRINT
    if states is None:
        if parents.are_all_scanned and match.site_id not in parents.forms:
            return BaselineState.NEW
        return BaselineState.UNCHANGED if is_same else BaselineState.UPDATED
    state = states.get(match.site_id)
    if state is None or not state.is_open:
        return BaselineState.NEW
    return BaselineState.UNCHANGED if is_same and state.is_unchanged_by(result) else BaselineState.UPDATED

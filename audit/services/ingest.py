"""Storing what a scan found: results, the sites they are, and what the branch looks like now."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from audit.errors import LeaseLostError
from audit.models import (
    Branch,
    Crate,
    FallbackSite,
    Lineage,
    Result,
    RowState,
    ScanFile,
    ScanRule,
    ScanRun,
)
from audit.scanner import report as scanner
from audit.scanner.matching import KnownSite, Match, MatchPass, match_results
from audit.scanner.report import BaselineState, ScanReport
from audit.services import git_repository
from audit.services.copying import as_json, ids_reserve, rows_copy
from audit.services.coverage import Coverage
from audit.services.gaps import GapChanges
from audit.services.leases import lease_finish
from audit.services.repository_lock import repository_lock
from audit.services.site_states import (
    FoundState,
    KnownState,
    states_close,
    states_known,
    states_write,
    step_json,
)


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What a stored scan changed on its branch; empty where the scan says nothing about the branch.

    `gaps` is nothing where the scan says nothing of capability gaps.
    """

    scan_run: ScanRun
    branch: Branch | None
    new_sites: tuple[int, ...] = ()
    reopened_sites: tuple[int, ...] = ()
    absent_sites: tuple[int, ...] = ()
    gaps: GapChanges | None = None


def scan_report_ingest(
    *,
    scan_run: ScanRun,
    lease_id: uuid.UUID,
    report: ScanReport,
    after_ingest: Callable[[IngestSummary], None],
) -> IngestSummary:
    """Store a report in one transaction and close the scan's row.

    One scan of a repository is stored at a time. A worker that lost its lease stores nothing.
    """
    with transaction.atomic():
        _lock(scan_run, lease_id)
        branch = _branch_it_speaks_for(scan_run)
        coverage = Coverage.of(report)
        states = states_known(branch=branch) if branch else {}
        sites = _known_sites(scan_run, branch, states, coverage)
        matches = match_results([site for site, _ in sites.values()], report.results, _codes)
        found = _store_results(scan_run, report, sites, states if branch else None, matches)
        _store_manifests(scan_run, report)
        summary = IngestSummary(scan_run, None)
        if branch:
            summary = _apply(scan_run, branch, found, states, coverage, report.outcomes)
        _close(scan_run, lease_id, report, found, summary)
        after_ingest(summary)
    return summary


def _lock(scan_run: ScanRun, lease_id: uuid.UUID) -> None:
    repository_lock(repository_id=scan_run.repository_id)
    with connection.cursor() as cursor:
        # Checks that wait for the commit pile up, and each history trigger of the plan walks the whole pile.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    held = ScanRun.objects.select_for_update().filter(
        pk=scan_run.pk, state=RowState.RUNNING, lease_id=lease_id
    )
    if not held.exists():
        raise LeaseLostError(f"{scan_run} was taken over or cancelled.")


def _branch_it_speaks_for(scan_run: ScanRun) -> Branch | None:
    """The branch whose states the scan may change: not one that is already further on."""
    if scan_run.branch_id is None:
        return None
    branch = Branch.objects.select_related("last_scan__commit").get(pk=scan_run.branch_id)
    last = branch.last_scan
    if last is None or last.commit_id == scan_run.commit_id:
        return branch
    if scan_run.commit.is_snapshot:
        return branch if scan_run.pk > last.pk else None
    is_behind = git_repository.is_ancestor(
        git_dir=git_repository.git_dir_of(scan_run.repository),
        object_id=scan_run.commit.object_id,
        of=last.commit.object_id,
    )
    return None if is_behind else branch


def _known_sites(
    scan_run: ScanRun, branch: Branch | None, states: Mapping[int, KnownState], coverage: Coverage
) -> dict[int, tuple[KnownSite, int | None]]:
    """The repository's sites as the matching sees them, each with the commit it was last recognised in."""
    columns = ("id", "rule_id", "symbol", "path", "partial_fingerprints", "last_seen_commit_id")
    rows = FallbackSite.objects.filter(repository_id=scan_run.repository_id).values_list(*columns)
    known: dict[int, tuple[KnownSite, int | None]] = {}
    for site_id, rule_id, symbol, path, fingerprints, commit_id in rows.iterator(chunk_size=10_000):
        state = states.get(site_id)
        is_candidate = state is None or state.is_open
        may_have_changed = is_candidate and coverage.could_see(rule_id=rule_id, path=path)
        line = state.start_line if state is not None and state.path == path else 0
        site = KnownSite(site_id, rule_id, symbol, path, fingerprints, may_have_changed, line)
        known[site_id] = (site, commit_id)
    return known


def _codes(site_ids: Collection[int]) -> dict[int, str]:
    """Return the code that sites were last seen in."""
    rows = Result.objects.filter(site_id__in=site_ids).order_by("site_id", "-id").distinct("site_id")
    return dict(rows.values_list("site_id", "snippet"))


def _store_results(
    scan_run: ScanRun,
    report: ScanReport,
    sites: Mapping[int, tuple[KnownSite, int | None]],
    states: Mapping[int, KnownState] | None,
    matches: Sequence[Match],
) -> list[FoundState]:
    """Store the results and the sites they are; without `states` it is the past, which moves no site."""
    new_ids = iter(ids_reserve(model=FallbackSite, count=sum(match.site_id is None for match in matches)))
    result_ids = ids_reserve(model=Result, count=len(matches))
    found = []
    for match, result_id, result in zip(matches, result_ids, report.results, strict=True):
        site_id = next(new_ids) if match.site_id is None else match.site_id
        found.append(FoundState(site_id, result_id, _baseline(match, result, states), result))
    _copy_new_sites(scan_run, found, matches)
    if states is not None:
        _update_sites(scan_run, found, matches, sites)
    rows_copy(table=Result._meta.db_table, columns=_RESULT_COLUMNS, rows=_result_rows(scan_run, found))
    rows_copy(
        table=Lineage._meta.db_table,
        columns=_LINEAGE_COLUMNS,
        rows=(
            (
                state.site_id,
                scan_run.pk,
                state.result_id,
                match.match_pass.value,
                match.confidence,
                sites[match.site_id][1] if match.site_id is not None else None,
                scan_run.commit_id,
            )
            for state, match in zip(found, matches, strict=True)
        ),
    )
    return found


def _baseline(match: Match, result: scanner.Result, states: Mapping[int, KnownState] | None) -> BaselineState:
    if match.site_id is None:
        return BaselineState.NEW
    if states is None:
        is_same = match.match_pass is MatchPass.FINGERPRINT
        return BaselineState.UNCHANGED if is_same else BaselineState.UPDATED
    state = states.get(match.site_id)
    if state is None or not state.is_open:
        return BaselineState.NEW
    is_same = match.match_pass is MatchPass.FINGERPRINT and state.is_unchanged_by(result)
    return BaselineState.UNCHANGED if is_same else BaselineState.UPDATED


def _copy_new_sites(scan_run: ScanRun, found: Sequence[FoundState], matches: Sequence[Match]) -> None:
    now = _transaction_time()
    rows_copy(
        table=FallbackSite._meta.db_table,
        columns=(
            "id",
            "repository_id",
            "correlation_guid",
            "rule_id",
            "symbol",
            "path",
            "partial_fingerprints",
            "first_seen_scan_id",
            "last_seen_commit_id",
            "created_at",
        ),
        rows=(
            (
                state.site_id,
                scan_run.repository_id,
                uuid.uuid4(),
                state.result.rule_id,
                state.result.symbol,
                state.result.path,
                as_json(dict(state.result.partial_fingerprints)),
                scan_run.pk,
                scan_run.commit_id,
                now,
            )
            for state, match in zip(found, matches, strict=True)
            if match.site_id is None
        ),
    )


def _update_sites(
    scan_run: ScanRun,
    found: Sequence[FoundState],
    matches: Sequence[Match],
    sites: Mapping[int, tuple[KnownSite, int | None]],
) -> None:
    """Bring the sites that moved or were edited up to the form they were recognised in."""
    seen_again: list[int] = []
    changed: list[FallbackSite] = []
    for state, match in zip(found, matches, strict=True):
        if match.site_id is None:
            continue
        seen_again.append(match.site_id)
        known, result = sites[match.site_id][0], state.result
        form = {
            "rule_id": result.rule_id,
            "symbol": result.symbol,
            "path": result.path,
            "partial_fingerprints": dict(result.partial_fingerprints),
        }
        if (known.rule_id, known.symbol, known.path, known.partial_fingerprints) != tuple(form.values()):
            changed.append(FallbackSite(pk=match.site_id, **form))
    columns = ["rule_id", "symbol", "path", "partial_fingerprints"]
    FallbackSite.objects.bulk_update(changed, columns, batch_size=2000)
    FallbackSite.objects.filter(pk__in=seen_again).update(last_seen_commit=scan_run.commit_id)


_LINEAGE_COLUMNS = (
    "site_id",
    "scan_run_id",
    "result_id",
    "match_pass",
    "confidence",
    "from_commit_id",
    "to_commit_id",
)

_RESULT_COLUMNS = (
    "id",
    "scan_run_id",
    "site_id",
    "baseline_state",
    "rule_id",
    "level",
    "message",
    "path",
    "start_line",
    "start_column",
    "end_line",
    "end_column",
    "symbol",
    "crate",
    "form",
    "partial_fingerprints",
    "evidence",
    "snippet",
    "suppressions",
    "properties",
)


def _result_rows(scan_run: ScanRun, found: Sequence[FoundState]) -> Iterator[tuple[object, ...]]:
    for state in found:
        result = state.result
        region = result.region
        yield (
            state.result_id,
            scan_run.pk,
            state.site_id,
            state.baseline_state.value,
            result.rule_id,
            result.level.value,
            result.message,
            result.path,
            region.start_line,
            region.start_column,
            region.end_line,
            region.end_column,
            result.symbol,
            result.crate,
            result.form,
            as_json(dict(result.partial_fingerprints)),
            as_json([step_json(step) for step in result.evidence]),
            result.snippet,
            as_json([dataclasses.asdict(suppression) for suppression in result.suppressions]),
            as_json(dict(result.properties)),
        )


def _store_manifests(scan_run: ScanRun, report: ScanReport) -> None:
    rows_copy(
        table=ScanFile._meta.db_table,
        columns=("scan_run_id", "path", "blob_id", "status", "reason", "size_bytes", "line_count"),
        rows=(
            (
                scan_run.pk,
                entry.path,
                entry.blob_id,
                entry.status.value,
                entry.reason,
                entry.size_bytes,
                entry.line_count,
            )
            for entry in report.manifest
        ),
    )
    rows_copy(
        table=ScanRule._meta.db_table,
        columns=("scan_run_id", "rule_id", "status", "reason"),
        rows=((scan_run.pk, run.rule_id, run.status.value, run.reason) for run in report.rule_runs),
    )
    Crate.objects.bulk_create(
        {
            crate.name: Crate(
                repository_id=scan_run.repository_id,
                name=crate.name,
                path=crate.path,
                is_workspace_member=crate.is_workspace_member,
            )
            for crate in report.crates
        }.values(),
        update_conflicts=True,
        unique_fields=["repository", "name"],
        update_fields=["path", "is_workspace_member"],
    )


def _apply(
    scan_run: ScanRun,
    branch: Branch,
    found: Sequence[FoundState],
    states: Mapping[int, KnownState],
    coverage: Coverage,
    outcomes: Mapping[int, scanner.SiteOutcome],
) -> IngestSummary:
    seen = {state.site_id for state in found}
    absent = tuple(
        site_id
        for site_id, state in states.items()
        if state.is_open
        and site_id not in seen
        and coverage.could_see(rule_id=state.rule_id, path=state.path)
    )
    new = tuple(state.site_id for state in found if state.site_id not in states)
    reopened = tuple(
        state.site_id for state in found if state.site_id in states and not states[state.site_id].is_open
    )
    states_write(branch=branch, scan_run=scan_run, found=found)
    states_close(branch=branch, scan_run=scan_run, site_ids=absent, outcomes=outcomes)
    Branch.objects.filter(pk=branch.pk).update(last_scan=scan_run)
    return IngestSummary(scan_run, branch, new, reopened, absent)


def _close(
    scan_run: ScanRun,
    lease_id: uuid.UUID,
    report: ScanReport,
    found: Sequence[FoundState],
    summary: IngestSummary,
) -> None:
    states = [state.baseline_state for state in found]
    lease_finish(
        row=scan_run,
        lease_id=lease_id,
        state=RowState.SUCCEEDED,
        applies_to_branch=summary.branch is not None,
        duration_seconds=report.duration_seconds,
        file_count=len(report.manifest),
        line_count=sum(entry.line_count for entry in report.manifest),
        result_count=len(found),
        new_count=states.count(BaselineState.NEW) - len(summary.reopened_sites),
        updated_count=states.count(BaselineState.UPDATED),
        unchanged_count=states.count(BaselineState.UNCHANGED),
        absent_count=len(summary.absent_sites),
        reopened_count=len(summary.reopened_sites),
    )


def _transaction_time() -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cursor.fetchone()[0]

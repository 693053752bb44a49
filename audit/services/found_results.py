"""Writing down the results of a scan: the results, the sites they are, and how each was recognised.

What was found goes to the database once, into a table of the transaction, and from there into every table
that takes its part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import connection

from audit.models import FallbackSite, Result, ScanRun
from audit.scanner import report as scanner
from audit.scanner.matching import KnownSite, Match
from audit.scanner.report import BaselineState
from audit.services.branch_history import step_json
from audit.services.copying import as_json, ids_reserve, rows_copy

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
_MATCH_COLUMNS = ("match_pass", "confidence", "from_commit_id", "is_new", "has_new_form")
_COLUMN_LIST = ", ".join(_RESULT_COLUMNS)

TABLE = "scan_found"
_CREATE = f"""
CREATE TEMPORARY TABLE {TABLE} ON COMMIT DROP AS
SELECT {_COLUMN_LIST}, ''::text AS match_pass, 0.0::float8 AS confidence, 0::bigint AS from_commit_id,
    FALSE AS is_new, FALSE AS has_new_form
FROM audit_result WITH NO DATA
"""  # noqa: S608 -- column names of this module
_SITES = f"""
INSERT INTO audit_fallbacksite (
    id, repository_id, correlation_guid, rule_id, symbol, path, partial_fingerprints, first_seen_scan_id,
    form_commit_id, created_at
)
SELECT site_id, %(repository)s, gen_random_uuid(), rule_id, symbol, path, partial_fingerprints, %(scan)s,
    %(commit)s, now()
FROM {TABLE} WHERE is_new
"""  # noqa: S608
_FORMS = f"""
UPDATE audit_fallbacksite AS site SET
    rule_id = found.rule_id,
    symbol = found.symbol,
    path = found.path,
    partial_fingerprints = found.partial_fingerprints,
    form_commit_id = %(commit)s
FROM {TABLE} AS found WHERE found.has_new_form AND found.site_id = site.id
"""  # noqa: S608
_RESULTS = f"INSERT INTO audit_result ({_COLUMN_LIST}) SELECT {_COLUMN_LIST} FROM {TABLE}"  # noqa: S608
_LINEAGE = f"""
INSERT INTO audit_lineage (
    site_id, scan_run_id, result_id, match_pass, confidence, from_commit_id, to_commit_id
)
SELECT site_id, scan_run_id, id, match_pass, confidence, from_commit_id, %(commit)s FROM {TABLE}
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class FoundState:
    """A site as the scan saw it."""

    site_id: int
    result_id: int
    baseline_state: BaselineState
    result: scanner.Result


@dataclass(frozen=True, slots=True)
class Known:
    """A site before the scan, and the commit in which it was last recognised."""

    site: KnownSite
    commit_id: int | None

    def has_form_of(self, result: scanner.Result) -> bool:
        """Whether the result looks as the site did; where it stands in its file is no part of that."""
        site = self.site
        return (site.rule_id, site.symbol, site.path, site.partial_fingerprints) == (
            result.rule_id,
            result.symbol,
            result.path,
            dict(result.partial_fingerprints),
        )


def sites_of_matches(matches: Sequence[Match]) -> list[int]:
    """Return the site of each match, with fresh ids for the places not seen before."""
    new_ids = iter(ids_reserve(model=FallbackSite, count=sum(match.site_id is None for match in matches)))
    return [next(new_ids) if match.site_id is None else match.site_id for match in matches]


def results_write(
    *,
    scan_run: ScanRun,
    found: Sequence[tuple[int, BaselineState, scanner.Result, Match, Known | None]],
    moves_sites: bool,
) -> list[FoundState]:
    """Store results, new sites and lineage; a scan that `moves_sites` brings sites up to their new form."""
    result_ids = ids_reserve(model=Result, count=len(found))
    states = [
        FoundState(site_id, result_id, baseline_state, result)
        for result_id, (site_id, baseline_state, result, _, _) in zip(result_ids, found, strict=True)
    ]
    keys = {"repository": scan_run.repository_id, "scan": scan_run.pk, "commit": scan_run.commit_id}
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
        cursor.execute(_CREATE)
        links = ((match, known) for _, _, _, match, known in found)
        rows_copy(
            table=TABLE,
            columns=(*_RESULT_COLUMNS, *_MATCH_COLUMNS),
            rows=_rows(scan_run, states, links, moves_sites),
        )
        for statement in (_SITES, *((_FORMS,) if moves_sites else ()), _RESULTS, _LINEAGE):
            cursor.execute(statement, keys)
    return states


def _rows(
    scan_run: ScanRun,
    states: Iterable[FoundState],
    links: Iterable[tuple[Match, Known | None]],
    moves_sites: bool,
) -> Iterator[tuple[object, ...]]:
    for state, (match, known) in zip(states, links, strict=True):
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
            as_json([one._asdict() | {"region": one.region._asdict()} for one in result.suppressions])
            if result.suppressions
            else "[]",
            as_json(dict(result.properties)),
            match.match_pass.value,
            match.confidence,
            known.commit_id if known is not None else None,
            known is None,
            moves_sites and known is not None and not known.has_form_of(result),
        )

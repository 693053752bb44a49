"""Holding the findings of an imported audit against what a scan of its commit saw."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from audit.imports.placing import Code, KnownResult, Placed, PlacedBy, Span, place_row
from audit.imports.rows import Place, Row
from audit.models import (
    Crate,
    FindingSite,
    ImportedAudit,
    ImportedFinding,
    ReferenceSource,
    Result,
    ScanFile,
    ScanRun,
)
from audit.scanner.extract import extract
from audit.scanner.report import FileStatus
from audit.selectors.source import source_texts
from audit.services.references import references_store

_READ = (FileStatus.SCANNED.value, FileStatus.UNCHANGED.value)


def findings_place(*, audit: ImportedAudit, scan_run: ScanRun) -> None:
    """Match each finding with sites, or say why not. What a person linked stays linked."""
    findings = list(audit.findings.all())
    code = _code(scan_run, findings)
    links = []
    for finding in findings:
        row = _row(finding)
        placed = place_row(row, code)
        finding.standing = placed.said.value
        finding.places = _places(placed, is_found=not row.places)
        links += [
            FindingSite(finding=finding, site_id=site, placed_by=placed_by.value)
            for site, placed_by in placed.sites.items()
        ]
    FindingSite.objects.filter(finding__audit=audit).exclude(placed_by=PlacedBy.PERSON.value).delete()
    FindingSite.objects.bulk_create(links, ignore_conflicts=True, batch_size=500)
    ImportedFinding.objects.bulk_update(findings, ["standing", "places"], batch_size=200)
    _refer(audit, findings, links)


def _row(finding: ImportedFinding) -> Row:
    return Row(
        line=finding.source_line,
        title=finding.title,
        text=finding.text,
        crate=finding.crate,
        # What an earlier matching found without a path is no place that the document names.
        places=tuple(
            Place(one["path"], one["start"], one["end"]) for one in finding.places if not one.get("is_found")
        ),
        names=tuple(finding.names),
        rule_ids=tuple(finding.rule_ids),
    )


def _places(placed: Placed, *, is_found: bool) -> list[dict[str, object]]:
    return [
        {
            "path": one.place.path,
            "start": one.place.start,
            "end": one.place.end,
            "said": one.said.value,
            "text": one.text,
            "file": one.path,
            "sites": sorted(one.found),
            "is_found": is_found,
        }
        for one in placed.places
    ]


def _refer(audit: ImportedAudit, findings: Iterable[ImportedFinding], links: Iterable[FindingSite]) -> None:
    sites: dict[int, list[int]] = {}
    for link in links:
        sites.setdefault(link.finding_id, []).append(link.site_id)
    for finding in findings:
        if finding.pk in sites:
            references_store(
                repository=audit.repository,
                text=f"{finding.reference}\n{finding.title}\n{finding.text}",
                sites=sites[finding.pk],
                source=ReferenceSource.FINDING,
                source_path=finding.get_absolute_url(),
            )


def _code(scan_run: ScanRun, findings: Sequence[ImportedFinding]) -> Code:
    files = dict(
        ScanFile.objects.filter(scan_run=scan_run, status__in=_READ).values_list("path", "line_count")
    )
    ends = {place["path"].rpartition("/")[2] for finding in findings for place in finding.places}
    texts = source_texts(scan_run=scan_run, paths={path for path in files if path.rpartition("/")[2] in ends})
    return Code(
        files=files,
        crates=dict(Crate.objects.filter(repository=scan_run.repository_id).values_list("name", "path")),
        results=_results(scan_run),
        functions=_functions_of(texts),
        text=lambda path: texts.get(path, ""),
    )


def _results(scan_run: ScanRun) -> list[KnownResult]:
    rows = Result.objects.filter(scan_run=scan_run).values_list(
        "site_id", "rule_id", "path", "start_line", "end_line", "symbol", "crate", "evidence"
    )
    return [
        KnownResult(site_id, rule_id, path, start, end, symbol, crate, tuple(map(_spot, evidence)))
        for site_id, rule_id, path, start, end, symbol, crate, evidence in rows
    ]


def _spot(step: Mapping[str, Any]) -> tuple[str, int, int]:
    return step["path"], step["region"]["start_line"], step["region"]["end_line"]


def _functions_of(texts: Mapping[str, str]) -> Callable[[str], Sequence[Span]]:
    @cache
    def functions(path: str) -> Sequence[Span]:
        data = texts.get(path, "").encode()
        starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
        return [
            Span(one.name, bisect_right(starts, one.start), bisect_right(starts, one.end))
            for one in extract(data).functions
        ]

    return functions

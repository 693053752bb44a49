"""The formats a report is offered in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from audit.rules import RULES
from audit.scanner.output.sarif import sarif_log
from audit.selectors.scan_reports import scan_report
from migrations_tracker.models import MigrationReport
from migrations_tracker.reports.archive import archive
from migrations_tracker.reports.csv_tables import report_csv
from migrations_tracker.reports.document import ReportDocument, ReportHead, document_head
from migrations_tracker.reports.markdown import report_markdown
from migrations_tracker.reports.pdf import report_pdf
from migrations_tracker.selectors.report_results import report_comparison
from workers.protocol.codec import from_json, to_json


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A way to write a report: the end of the file's name, its media type, and what writes it."""

    key: str
    title: str
    media_type: str
    write: Callable[[MigrationReport, ReportDocument], Iterable[str] | Iterable[bytes]]


def document_of(report: MigrationReport) -> ReportDocument:
    """Read the facts of a report that was written."""
    return from_json(ReportDocument, report.document)


def head_of(report: MigrationReport) -> ReportHead:
    """Read what a page shows of a report that was written."""
    return from_json(ReportHead, report.head)


def file_name(report: MigrationReport, key: str) -> str:
    """Return the name a report is saved under."""
    slug, commit = report.branch.repository.slug, report.scan_run.commit.short_id
    return f"migration-report-{slug}-{commit}-{report.pk}.{key}"


def report_archive(report: MigrationReport) -> bytes:
    """Return all formats in one ZIP file."""
    document = document_of(report)
    return archive({file_name(report, one.key): written(one, report, document) for one in FORMATS.values()})


def written(chosen: ReportFormat, report: MigrationReport, document: ReportDocument) -> bytes:
    """Return a report in one format as a whole."""
    return b"".join(
        part if isinstance(part, bytes) else part.encode() for part in chosen.write(report, document)
    )


def _html(report: MigrationReport, document: ReportDocument) -> Iterable[str]:
    found = finders.find("css/app.css")
    style = Path(found).read_text(encoding="utf-8") if isinstance(found, str) else ""
    context = {
        "report": report,
        "head": document_head(document, at_most=None),
        "style": style.replace("</", "<\\/"),
    }
    yield render_to_string("report_offline.html", context)


def _markdown(report: MigrationReport, document: ReportDocument) -> Iterable[str]:
    yield report_markdown(document, report.digest)


def _pdf(report: MigrationReport, document: ReportDocument) -> Iterable[bytes]:
    yield report_pdf(
        report_markdown(document, report.digest),
        title=f"Migration report: {document.repository_name}",
        created_at=report.finished_at or report.created_at,
    )


def _csv(report: MigrationReport, document: ReportDocument) -> Iterable[str]:
    del report
    return report_csv(document)


def _json(report: MigrationReport, document: ReportDocument) -> Iterable[str]:
    # The digest is of what was kept: what a later version of the program adds is no fact of that day.
    text = {"digest": f"sha256:{report.digest}", **_as_kept(to_json(document), report.document)}
    yield json.dumps(text, indent=2, ensure_ascii=False) + "\n"


def _as_kept(told: Any, kept: Any) -> Any:
    """Return what was kept, in the order in which the document declares it."""
    if isinstance(told, dict) and isinstance(kept, dict):
        return {key: _as_kept(value, kept[key]) for key, value in told.items() if key in kept}
    if isinstance(told, list) and isinstance(kept, list):
        return [_as_kept(*pair) for pair in zip(told, kept, strict=True)]
    return kept


def _sarif(report: MigrationReport, document: ReportDocument) -> Iterable[str]:
    comparison = report_comparison(report=report, document=document)
    log = sarif_log(scan_report(scan_run=report.scan_run), RULES, comparison)
    yield json.dumps(log, indent=2, ensure_ascii=False) + "\n"


FORMATS: Mapping[str, ReportFormat] = {
    one.key: one
    for one in (
        ReportFormat("html", "HTML, one file", "text/html; charset=utf-8", _html),
        ReportFormat("pdf", "PDF", "application/pdf", _pdf),
        ReportFormat("md", "Markdown", "text/markdown; charset=utf-8", _markdown),
        ReportFormat("csv", "CSV", "text/csv; charset=utf-8", _csv),
        ReportFormat("json", "JSON", "application/json", _json),
        ReportFormat("sarif", "SARIF", "application/sarif+json", _sarif),
    )
}

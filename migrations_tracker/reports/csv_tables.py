"""A report's sites as CSV: one record per site, open and closed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from migrations_tracker.reports.document import ReportDocument
from migrations_tracker.scheduling.texts.csv_table import neutralised

_HEAD = (
    "site",
    "state",
    "rule",
    "name",
    "level",
    "crate",
    "path",
    "line",
    "symbol",
    "status",
    "assignee",
    "is_new",
    "outcome",
    "verdict",
    "closed_at_commit",
    "text",
    "rests_on",
)


class _Line:
    """Takes what `csv.writer` writes, one record at a time."""

    def write(self, text: str) -> str:
        return text


def report_csv(document: ReportDocument) -> Iterator[str]:
    """Yield a header and a record per site; cells that a spreadsheet would run are written as text."""
    write = csv.writer(_Line(), lineterminator="\r\n").writerow
    yield str(write(_HEAD))
    for record in _records(document):
        yield str(write([neutralised(cell) for cell in record]))


def _records(document: ReportDocument) -> Iterator[Sequence[str]]:
    clauses = {remedy.rule_id: remedy.clauses for remedy in document.remedies}
    for site in document.open_sites:
        yield (
            str(site.site),
            "open",
            site.rule_id,
            site.rule_name,
            site.level,
            site.crate,
            site.path,
            str(site.line),
            site.symbol,
            site.status,
            site.assignee,
            "yes" if site.is_new else "no",
            "",
            "",
            "",
            site.message,
            " ".join(clauses.get(site.rule_id, ())),
        )
    for gone in document.closed_sites:
        yield (
            str(gone.site),
            "closed",
            gone.rule_id,
            gone.rule_name,
            "",
            gone.crate,
            gone.path,
            str(gone.line),
            gone.symbol,
            gone.status,
            "",
            "no",
            gone.outcome,
            gone.verdict,
            gone.commit,
            gone.sentence,
            " ".join(gone.clauses),
        )

"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from audit.policy.sentences import Said
from audit.scanner.output.markdown_text import code, escaped
from migrations_tracker.reports.document import LevelLine, NotSeen, ReportDocument, ScanLine


def report_markdown(document: ReportDocument, digest: str) -> str:
    """Write the report; `digest` names the facts it was written from."""
    parts = [
        *_head(document),
        *_summary(document),
        *_levels("By rule", document.rules),
        *_levels("By crate", document.crates),
        *_plan(document),
        *_closed(document),
        *_remedies(document),
        *_open(document),
        *_not_seen("Files that were not scanned", document.files_not_scanned),
        *_not_seen("Rules that did not run", document.rules_not_run),
        f"Facts: `sha256:{digest}`",
    ]
    return "\n\n".join(parts) + "\n"


def _head(document: ReportDocument) -> Iterator[str]:
    yield f"# Migration report: {escaped(document.repository_name)}"
    judge = document.judge
    ptxas = f"ptxas {judge.ptxas_version}" if judge.ptxas_version else "no ptxas"
    profile = f"profile {code(judge.profile)} (`{judge.profile_hash[:12]}`)"
    yield "\n".join(
        [
            f"- Branch {code(document.branch)}, {_scan(document.scan)}",
            f"- {f'Since {_scan(document.since)}' if document.since else 'From the first scan on'}",
            f"- Scanner {judge.scanner_version}, {profile}, {ptxas}, policy version {judge.policy_version}",
            f"- {document.file_count:,} files, {document.line_count:,} lines",
        ]
    )


def _scan(scan: ScanLine) -> str:
    committed = f" of {scan.committed}" if scan.committed else ""
    return f"commit {code(scan.short_commit)}{committed}, scan #{scan.number}"


def _summary(document: ReportDocument) -> Iterator[str]:
    yield "## Where it stands"
    yield _table(
        ("what", "sites"),
        (
            ("open", f"{document.open_count:,}"),
            ("of these new", f"{document.new_count:,}"),
            ("closed", f"{document.closed_count:,}"),
            ("closed, outcome not known", f"{document.unexplained_count:,}"),
            ("closed, not verified on a GPU", f"{document.unverified_count:,}"),
            ("capability gaps open", _known(document.gaps_open)),
            ("capability gaps closed", _known(document.gaps_closed)),
        ),
        numbers=1,
    )
    if document.unverified_remark:
        yield _remark(document.unverified_remark)
    if document.gaps_remark:
        yield _remark(document.gaps_remark)


def _known(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


def _levels(title: str, lines: Sequence[LevelLine]) -> Iterator[str]:
    if not lines:
        return
    yield f"## {title}"
    rows = [
        (
            escaped(line.title),
            f"{line.error:,}",
            f"{line.warning:,}",
            f"{line.note:,}",
            f"{line.total:,}",
        )
        for line in lines
    ]
    yield _table(("", "error", "warning", "note, none", "all"), rows, numbers=4)


def _plan(document: ReportDocument) -> Iterator[str]:
    yield "## The plan"
    yield _table(
        ("status", "sites"), [(line.title, f"{line.count:,}") for line in document.statuses], numbers=1
    )
    if document.outcomes:
        yield _table(
            ("outcome", "sites"), [(line.title, f"{line.count:,}") for line in document.outcomes], numbers=1
        )


def _closed(document: ReportDocument) -> Iterator[str]:
    if not document.closed_sites:
        return
    yield "## What was done"
    yield _table(
        ("site", "place then", "what can be said", "outcome", "GPU", "rests on"),
        [
            (
                f"#{site.site}",
                f"{code(f'{site.path}:{site.line}')} {site.rule_id}",
                escaped(site.sentence),
                site.outcome or "not known",
                site.verdict or "not verified",
                " ".join(site.clauses),
            )
            for site in document.closed_sites
        ],
    )


def _remedies(document: ReportDocument) -> Iterator[str]:
    if not document.remedies:
        return
    yield "## What would close the rest"
    yield "\n".join(
        f"- {one.rule_id} {one.rule_name} ({one.count:,}): {escaped(one.text)}{_resting(one.clauses)}"
        for one in document.remedies
    )


def _open(document: ReportDocument) -> Iterator[str]:
    yield "## What is open"
    if document.nothing_open_remark:
        yield _remark(document.nothing_open_remark)
        return
    yield _table(
        ("site", "rule", "level", "place", "symbol", "status"),
        [
            (
                f"#{site.site}{' new' if site.is_new else ''}",
                site.rule_id,
                site.level,
                code(f"{site.path}:{site.line}"),
                code(site.symbol) if site.symbol else "",
                escaped(f"{site.status}{f', {site.assignee}' if site.assignee else ''}"),
            )
            for site in document.open_sites
        ],
    )


def _remark(said: Said) -> str:
    return f"{said.text}{_resting(said.clauses)}"


def _resting(clauses: Sequence[str]) -> str:
    return f" ({', '.join(clauses)})" if clauses else ""


def _not_seen(title: str, lines: Sequence[NotSeen]) -> Iterator[str]:
    if not lines:
        return
    yield f"## {title}"
    yield _table(
        ("name", "state", "reason"),
        [(code(one.name), one.status, escaped(one.reason)) for one in lines],
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """Write a table of which the last `numbers` columns hold numbers."""
    rule = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))

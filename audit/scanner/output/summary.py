"""The end of the text output: what was scanned, what was found, what was not looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from audit.rules.base import Rule
from audit.scanner.baseline import Comparison
from audit.scanner.output.style import Style, visible
from audit.scanner.profile import GENERIC_PROFILE
from audit.scanner.report import BaselineState, FileStatus, Level, Result, RuleStatus, ScanReport
from audit.scanner.suppression import is_suppressed

_LEVELS = (Level.ERROR, Level.WARNING, Level.NOTE)
_LOOKED_AT = frozenset({FileStatus.SCANNED, FileStatus.UNCHANGED})
_FILES_LISTED = 20


def summary(
    report: ScanReport, rules: Sequence[Rule], comparison: Comparison | None, style: Style
) -> Iterator[str]:
    """Yield the lines of the summary."""
    yield style.paint("Summary", "bold")
    yield from _scanned(report)
    yield ""
    yield from _table(report, rules, style)
    if comparison:
        yield from _against_baseline(comparison, style)
    yield from _files_not_scanned(report, style)
    yield from _rules_not_run(report, rules, style)
    yield from _rules_narrowed(report, rules, style)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _scanned(report: ScanReport) -> Iterator[str]:
    source = report.source
    where = visible(source.root)
    if source.commit_id:
        branch = f" ({visible(source.branch)})" if source.branch else ""
        where = f"{where} at {source.commit_id[:12]}{branch}"
    rust = [entry for entry in report.manifest if entry.path.endswith(".rs")]
    looked_at = sum(entry.status in _LOOKED_AT or entry.status is FileStatus.PARTIAL for entry in rust)
    lines = sum(entry.line_count for entry in rust)
    yield f"  {where}"
    files = f"{plural(looked_at, 'Rust file')} ({plural(lines, 'line')})"
    crates = plural(len(report.crates), "crate")
    yield f"  {files} in {crates}, {report.duration_seconds:.1f} s"
    why = f" ({visible(report.profile_reason)})" if report.profile_reason else ""
    yield f"  profile {visible(report.profile_name)}{why}"
    if report.level_overrides:
        levels = ", ".join(f"{rule_id} {level.value}" for rule_id, level in report.level_overrides.items())
        yield f"  levels set by the project: {levels}"


def _table(report: ScanReport, rules: Sequence[Rule], style: Style) -> Iterator[str]:
    standing = [result for result in report.results if not is_suppressed(result)]
    counted = [result for result in standing if result.level is not Level.NONE]
    suppressed = len(report.results) - len(standing)
    if not report.results:
        ran = [run for run in report.rule_runs if run.status is RuleStatus.RAN]
        narrowed = sum(bool(run.reason) for run in ran)
        text = f"No results from {plural(len(ran), 'rule')}"
        if narrowed:
            yield "  " + style.paint(f"{text}, {narrowed} of them narrowed (below).", "bold", "yellow")
        else:
            yield "  " + style.paint(f"{text}.", "bold", "green")
        return
    counts = Counter((result.rule_id, result.level) for result in counted)
    found = [rule for rule in rules if any(counts[rule.id, level] for level in _LEVELS)]
    label_width = max((len(f"{rule.id} {rule.name}") for rule in found), default=10)
    yield style.paint(
        f"  {'':{label_width}}  " + "".join(f"{level.value:>9}" for level in _LEVELS) + "    total", "dim"
    )
    for rule in found:
        label = f"{rule.id} {rule.name}"
        yield _row(label, label_width, [counts[rule.id, level] for level in _LEVELS], style)
    totals = [sum(result.level is level for result in counted) for level in _LEVELS]
    yield style.paint("  " + style.sign("─", "-") * (label_width + 38), "dim")
    yield _row("all", label_width, totals, style, bold=True)
    if len(standing) > len(counted):
        yield f"  {plural(len(standing) - len(counted), 'more result')} of level none, which fails no check"
    if suppressed:
        yield f"  {plural(suppressed, 'more result')} suppressed in the source, with a reason"


def _row(label: str, label_width: int, counts: list[int], style: Style, *, bold: bool = False) -> str:
    cells = [
        style.in_level(f"{count:>9,}", level) if count else " " * 9
        for count, level in zip(counts, _LEVELS, strict=True)
    ]
    total = f"{sum(counts):>9,}"
    return f"  {label:{label_width}}  {''.join(cells)}{style.paint(total, 'bold') if bold else total}"


def _against_baseline(comparison: Comparison, style: Style) -> Iterator[str]:
    states = (BaselineState.NEW, BaselineState.UNCHANGED, BaselineState.UPDATED)
    counts = [f"{comparison.count(state)} {state.value}" for state in states]
    yield ""
    yield f"  Against the baseline: {', '.join(counts)}, {len(comparison.absent)} absent"
    if comparison.not_read_before:
        yield ""
        yield style.paint("In files that the baseline could not read whole: not known to be new", "bold")
        for late in comparison.not_read_before:
            yield f"  {place(late.result)}  {style.paint(visible(late.not_read_before), 'yellow')}"
    if comparison.absent:
        yield ""
        yield style.paint("Absent since the baseline", "bold")
        for gone in comparison.absent:
            outcome = gone.outcome.outcome.value if gone.outcome else "outcome not known"
            yield f"  {place(gone.result)}  {style.paint(outcome, 'green' if gone.outcome else 'dim')}"
    if comparison.unseen:
        yield ""
        yield style.paint("In the baseline, and not looked for by this scan", "bold")
        for unseen in comparison.unseen:
            yield f"  {place(unseen.result)}  {style.paint(visible(unseen.reason), 'yellow')}"


def place(result: Result) -> str:
    return f"{result.rule_id} {visible(result.path)} {visible(result.symbol)}".rstrip()


def _files_not_scanned(report: ScanReport, style: Style) -> Iterator[str]:
    entries = [entry for entry in report.manifest if entry.status not in _LOOKED_AT]
    if not entries:
        return
    yield ""
    yield style.paint(f"Not scanned, or in part: {plural(len(entries), 'file')}", "bold", "yellow")
    # What failed comes before what was skipped on purpose.
    entries.sort(key=lambda entry: entry.status is FileStatus.SKIPPED)
    for entry in entries[:_FILES_LISTED]:
        yield f"  {visible(entry.path)}  {entry.status.value}: {visible(entry.reason)}"
    if len(entries) > _FILES_LISTED:
        yield style.paint(f"  and {len(entries) - _FILES_LISTED} more: --format json lists them all", "dim")


def _rules_not_run(report: ScanReport, rules: Sequence[Rule], style: Style) -> Iterator[str]:
    runs = [run for run in report.rule_runs if run.status is not RuleStatus.RAN]
    if not runs:
        return
    names = {rule.id: rule.name for rule in rules}
    yield ""
    yield style.paint(f"Not run: {plural(len(runs), 'rule')}, which found nothing out", "bold", "yellow")
    for run in runs:
        yield f"  {run.rule_id} {names.get(run.rule_id, '')}  {visible(run.reason)}"


def _rules_narrowed(report: ScanReport, rules: Sequence[Rule], style: Style) -> Iterator[str]:
    """Yield which rules ran with half an eye: what they did not report is not clean."""
    names = {rule.id: rule.name for rule in rules}
    by_reason: dict[str, list[str]] = {}
    for run in report.rule_runs:
        if run.status is RuleStatus.RAN and run.reason:
            by_reason.setdefault(run.reason, []).append(f"{run.rule_id} {names.get(run.rule_id, '')}")
    for reason, narrowed in by_reason.items():
        yield ""
        title = f"Narrowed: {plural(len(narrowed), 'rule')}, whose silence tells little"
        yield style.paint(title, "bold", "yellow")
        yield f"  {visible(reason)}"
        for name in narrowed:
            yield f"  {name}"
    if report.profile_name == GENERIC_PROFILE:
        yield ""
        yield style.paint("No profile fits this project", "bold", "yellow")
        yield "  Write one to have its own words known: a TOML file of a few names that extends a profile,"
        yield "  given with `--profile FILE`. How: docs/write-a-profile.md."

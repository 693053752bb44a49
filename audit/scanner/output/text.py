"""A scan as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from audit.rules.base import Rule
from audit.scanner.baseline import Comparison
from audit.scanner.output.frame import frame_of, step_line
from audit.scanner.output.source_text import SourceTexts
from audit.scanner.output.style import Style, visible
from audit.scanner.output.summary import plural, summary
from audit.scanner.report import BaselineState, EvidenceStep, Result, ScanReport
from audit.scanner.suppression import REJECTED, is_suppressed

_STATE_COLOURS = {
    BaselineState.NEW: "magenta",
    BaselineState.UPDATED: "yellow",
    BaselineState.UNCHANGED: "dim",
}
NO_CRATE = "(no crate)"


def text_lines(
    report: ScanReport,
    rules: Sequence[Rule],
    texts: SourceTexts,
    style: Style,
    comparison: Comparison | None = None,
) -> Iterator[str]:
    """Yield the lines: results by crate and file, then the summary. Suppressed results are only counted."""
    names = {rule.id: rule.name for rule in rules}
    states = {id(compared.result): compared.state for compared in comparison.results} if comparison else {}
    shown = sorted(
        (result for result in report.results if not is_suppressed(result)),
        key=lambda result: (result.crate, result.path, result.region.start_line, result.region.start_column),
    )
    for crate, in_crate in groupby(shown, key=lambda result: result.crate):
        results = list(in_crate)
        yield _crate_line(crate, len(results), style)
        yield ""
        for path, in_file in groupby(results, key=lambda result: result.path):
            yield style.paint(visible(path), "bold")
            yield ""
            for result in in_file:
                yield from result_lines(result, names, states.get(id(result)), texts, style)
                yield ""
    yield from summary(report, rules, comparison, style)


def _crate_line(crate: str, count: int, style: Style) -> str:
    name, counted = visible(crate) or NO_CRATE, plural(count, "result")
    line = style.sign("─", "-")
    edge = style.paint(line * 2, "blue")
    fill = style.paint(line * max(2, style.width - len(name) - len(counted) - 8), "blue")
    return f"{edge} {style.paint(name, 'bold', 'blue')} {fill} {counted} {edge}"


def result_lines(
    result: Result, names: dict[str, str], state: BaselineState | None, texts: SourceTexts, style: Style
) -> Iterator[str]:
    head = (
        f"{style.level(result.level)} {style.paint(names.get(result.rule_id, ''), 'bold')} {result.rule_id}"
    )
    if state:
        head += f"  {style.paint(state.value, _STATE_COLOURS[state])}"
    yield head
    yield from textwrap.wrap(
        visible(result.message), style.width - 2, initial_indent="  ", subsequent_indent="  "
    )
    yield _place_line(result, style)
    yield from frame_of(result, texts.get(result.path), style)
    yield from _evidence_lines(result, texts, style)
    for suppression in result.suppressions:
        if suppression.status == REJECTED:
            line = suppression.region.start_line
            note = f"the comment in line {line} allows this without a reason, so it does not count"
            yield f"  {style.paint('note:', 'cyan')} {note}"


def _place_line(result: Result, style: Style) -> str:
    region = result.region
    place = f"{visible(result.path)}:{region.start_line}:{region.start_column}"
    arrow = style.paint(style.sign("╭─", "-->"), "blue")
    symbol = f" {style.paint('in', 'dim')} {visible(result.symbol)}" if result.symbol else ""
    return f"  {arrow} {style.paint(place, 'cyan')}{symbol}"


def _evidence_lines(result: Result, texts: SourceTexts, style: Style) -> Iterator[str]:
    for number, step in enumerate(result.evidence, 1):
        is_last = number == len(result.evidence)
        branch = style.sign("╰─" if is_last else "├─", "`-" if is_last else "|-")
        yield (
            f"  {style.paint(branch, 'blue')} {style.paint(f'{step.role:6}', 'bold')} "
            f"{style.paint(_step_place(step, result), 'cyan')} {visible(step.message)}"
        )
        source = texts.get(step.path)
        if source and _needs_code(step, result):
            bar = " " if is_last else style.paint(style.sign("│", "|"), "blue")
            yield f"  {bar}{step_line(step.region, source, style, 6)}"


def _step_place(step: EvidenceStep, result: Result) -> str:
    if step.path == result.path:
        return f"line {step.region.start_line}"
    return f"{visible(step.path)}:{step.region.start_line}:{step.region.start_column}"


def _needs_code(step: EvidenceStep, result: Result) -> bool:
    """Tell whether the step lies outside the frame already drawn."""
    if step.path != result.path:
        return True
    return not result.region.start_line <= step.region.start_line <= result.region.end_line

"""What a change of files has changed, as text for people who watch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from audit.rules.base import Rule
from audit.scanner.baseline import ComparedResult, Comparison
from audit.scanner.output.source_text import SourceTexts
from audit.scanner.output.style import Style, visible
from audit.scanner.output.summary import place, plural
from audit.scanner.output.text import result_lines
from audit.scanner.report import BaselineState, ManifestEntry, ScanReport
from audit.scanner.suppression import is_suppressed

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A scan beside the one before it.

    `files` are those that stand otherwise than before, `broken` those that could not be read whole and were
    not so before. `comparison` holds the results against those that stood before, `against_baseline` against
    those of the file that was given.
    """

    at: datetime
    seconds: float
    files: Sequence[str]
    broken: Sequence[ManifestEntry]
    report: ScanReport
    comparison: Comparison
    against_baseline: Comparison | None = None
    has_new_profile: bool = False

    @property
    def shown(self) -> list[ComparedResult]:
        """The results that nobody has seen yet, those aside that are suppressed."""
        return [
            one
            for one in self.comparison.results
            if (one.state is BaselineState.NEW or one.not_read_before) and not is_suppressed(one.result)
        ]


def change_lines(change: Change, rules: Sequence[Rule], texts: SourceTexts, style: Style) -> Iterator[str]:
    """Yield the lines: the files, each new result with its code, what is gone, and the counts."""
    yield _head(change, style)
    if change.has_new_profile:
        yield f"  profile {visible(change.report.profile_name)} ({visible(change.report.profile_reason)})"
    for entry in change.broken:
        reason = style.paint(f"{entry.status.value}: {visible(entry.reason)}", "yellow")
        yield f"  {visible(entry.path)}  {reason}"
    names = {rule.id: rule.name for rule in rules}
    for one in change.shown:
        yield ""
        yield from result_lines(one.result, names, BaselineState.NEW, texts, style)
    told = list(_told(change.comparison, style))
    if change.shown:
        yield ""
    yield from told
    yield f"  {_counts(change)}, {change.seconds:.1f} s"
    if change.against_baseline is not None:
        yield f"  Against the baseline: {_states(change.against_baseline)}"


def _head(change: Change, style: Style) -> str:
    named = ", ".join(visible(path) for path in change.files[:_MOST_NAMED])
    if len(change.files) > _MOST_NAMED:
        named = f"{plural(len(change.files), 'file')}: {named}, ..."
    at = style.paint(f"{change.at:%H:%M:%S}", "dim")
    return f"{at} {style.paint(named or 'the same files', 'bold')}"


def _told(comparison: Comparison, style: Style) -> Iterator[str]:
    """Yield a line for each result that is another one than it was, or gone."""
    for one in comparison.results:
        if one.state is not BaselineState.UPDATED:
            continue
        is_silent = is_suppressed(one.result)
        was_silent = one.earlier is not None and is_suppressed(one.earlier)
        if is_silent and was_silent:
            continue
        word = "suppressed" if is_silent else "suppressed no more" if was_silent else "updated"
        yield f"  {style.paint(word, 'yellow')} {place(one.result)}"
    for gone in comparison.absent:
        if not is_suppressed(gone.result):
            outcome = f"  {gone.outcome.outcome.value}" if gone.outcome is not None else ""
            yield f"  {style.paint('gone', 'green')} {place(gone.result)}{style.paint(outcome, 'green')}"


def _counts(change: Change) -> str:
    comparison = change.comparison
    standing = [one for one in comparison.results if not is_suppressed(one.result)]
    gone = sum(not is_suppressed(one.result) for one in comparison.absent)
    updated = sum(one.state is BaselineState.UPDATED for one in standing)
    unchanged = len(standing) - len(change.shown) - updated
    words = [f"{len(change.shown)} new", f"{gone} gone"]
    words += [f"{updated} updated"] if updated else []
    words.append(f"{unchanged:,} unchanged")
    unseen = sum(not is_suppressed(one.result) for one in comparison.unseen)
    return ", ".join([*words, f"{unseen} not to be seen now"] if unseen else words)


def _states(comparison: Comparison) -> str:
    states = (BaselineState.NEW, BaselineState.UNCHANGED, BaselineState.UPDATED)
    counts = [f"{comparison.count(state):,} {state.value}" for state in states]
    return f"{', '.join(counts)}, {len(comparison.absent):,} absent"

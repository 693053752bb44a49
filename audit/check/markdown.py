"""The body of a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from audit.check.checking import Check
from audit.claims.bearing import BEARING_LABELS, Bearing
from audit.rules.base import Rule
from audit.scanner.baseline import ComparedResult
from audit.scanner.output.markdown_text import code, escaped
from audit.scanner.report import BaselineState, Level, Result
from audit.scanner.suppression import is_suppressed

# By this line a script finds its own comment again, to replace it.
MARK = "<!-- ferroaudit check -->"
ROWS = 50
# What GitHub takes is 65,536.
MOST_CHARACTERS = 60_000
_ORDER = {"error": 0, "warning": 1, "note": 2}


def markdown_of(check: Check, rules: Sequence[Rule]) -> str:
    """Write the comment; a text that would be too long says where it was cut."""
    names = {rule.id: rule.name for rule in rules}
    lines: list[str] = []
    length = 0
    for line in _lines(check, names):
        length += len(line) + 1
        if length > MOST_CHARACTERS:
            lines += ["", "*Cut here: the SARIF log holds everything.*"]
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(check: Check, names: Mapping[str, str]) -> Iterator[str]:
    new = sorted(_new(check), key=lambda one: _ORDER.get(one.result.level.value, 9))
    comparison = check.comparison
    yield MARK
    yield f"## {_headline(len(new), len(comparison.absent))}"
    yield ""
    yield (
        f"`{check.change.head[:9]}` against `{check.change.start[:9]}`: {len(new)} new, "
        f"{comparison.count(BaselineState.UPDATED)} edited, "
        f"{comparison.count(BaselineState.UNCHANGED)} unchanged, {len(comparison.absent)} gone."
    )
    if new:
        yield from _table("New", ("rule", "where", "what"), [_row_of_new(one.result, names) for one in new])
    if comparison.absent:
        yield from _table(
            "Gone", ("rule", "where it was", "what became of it"), list(_rows_of_gone(check, names))
        )
    yield from _claims(check)
    yield from _not_seen(check, names)


def _headline(new: int, gone: int) -> str:
    left = f"{gone} gone" if gone else "none gone"
    return f"{new} new result{'s' * (new != 1)}, {left}" if new else f"Nothing new, {left}"


def _new(check: Check) -> Iterator[ComparedResult]:
    for one in check.comparison.results:
        counts = one.result.level is not Level.NONE and not is_suppressed(one.result)
        if one.state is BaselineState.NEW and counts:
            yield one


def _row_of_new(result: Result, names: Mapping[str, str]) -> tuple[str, ...]:
    return _rule(result, names), _where(result), escaped(result.message)


def _rows_of_gone(check: Check, names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for gone in check.comparison.absent:
        became = f"{gone.outcome.outcome.value}: {gone.outcome.text}" if gone.outcome else "not known"
        yield _rule(gone.result, names), _where(gone.result), escaped(became)


def _claims(check: Check) -> Iterator[str]:
    if not check.messages:
        return
    is_described = any(not message.commit_id for message in check.messages)
    yield from ("", f"### What the {'description and the ' * is_described}commits say", "")
    for message in check.messages:
        where = f"`{message.commit_id[:9]}`" if message.commit_id else "the description"
        for held in message.held:
            label = BEARING_LABELS[held.bearing]
            shown = f"**{label}**" if held.bearing is Bearing.NOT_BORNE_OUT else label
            yield f"- {shown} ({where}): “{escaped(held.claim.text)}”"
            yield f"  {escaped(held.text)}"


def _not_seen(check: Check, names: Mapping[str, str]) -> Iterator[str]:
    late = [one for one in check.comparison.not_read_before if not is_suppressed(one.result)]
    if late:
        seen = [(_rule(one.result, names), _where(one.result), escaped(one.not_read_before)) for one in late]
        title = "Seen now, in files that could not be read whole before: not known to be new"
        yield from _table(title, ("rule", "where", "why it was not seen"), seen)
    unseen = check.comparison.unseen
    if unseen:
        rows = [(code(one.result.path), escaped(one.reason)) for one in unseen]
        yield from _table("Not looked at, so they still count", ("file", "why"), rows)
    if check.unread:
        unread = [(code(one.path), escaped(f"{one.status.value}: {one.reason}")) for one in check.unread]
        yield from _table("Not read whole: what is new in them is not known", ("file", "why"), unread)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"### {title}", "")
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows[:ROWS]:
        yield f"| {' | '.join(row)} |"
    if len(rows) > ROWS:
        yield from ("", f"and {len(rows) - ROWS} more")


def _rule(result: Result, names: Mapping[str, str]) -> str:
    return f"{result.rule_id} {names.get(result.rule_id, '')}".strip()


def _where(result: Result) -> str:
    return f"{code(f'{result.path}:{result.region.start_line}')} {code(result.symbol)}"

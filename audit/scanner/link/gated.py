"""Parts of a function that a cfg predicate gates: the whole of it, blocks, statements."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from audit.scanner.extract.facts import RegionKind
from audit.scanner.link.cfg import Cfg, cfgs_of, parse_cfg
from audit.scanner.link.unit import Fn, Unit

_ATTRIBUTE = re.compile(rb"#\[\s*cfg\s*\(")
_CFG_MACRO = re.compile(r"^\s*cfg!\s*\((.*)\)\s*$", re.DOTALL)
_SPACE = re.compile(rb"\s*")
_OPENING = {ord("("): 1, ord("["): 1, ord("{"): 1, ord(")"): -1, ord("]"): -1, ord("}"): -1}


class Gated(NamedTuple):
    """A part of a function behind a cfg predicate; `start:end` is what stands inside its braces."""

    cfg: Cfg
    start: int
    end: int
    is_whole: bool


def gated_parts(function: Fn) -> tuple[Gated, ...]:
    """Return the parts of a function that a cfg gates: by attribute on the item, a block or a statement.

    Attributes of the modules and impls around it count as the item's, those of its file do not: they gate a
    crate or module as a whole. `if cfg!(..)` gates its block.
    """
    told: dict[Fn, tuple[Gated, ...]] = function.unit.told_once(gated_parts, lambda _: {})
    found = told.get(function)
    if found is None:
        found = told[function] = tuple(_gated(function))
    return found


def _gated(function: Fn) -> Iterator[Gated]:
    facts = function.facts
    if not facts.body_end:
        return
    attributes = [*facts.attributes, *(one for scope in function.scopes for one in scope.attributes)]
    for cfg in cfgs_of(attributes):
        yield Gated(cfg, facts.body_start + 1, facts.body_end - 1, True)
    yield from _by_attribute(function)
    for region in facts.regions:
        if region.kind == RegionKind.THEN:
            macro = _CFG_MACRO.match(function.text(region.condition_start, region.condition_end))
            asked = parse_cfg(f"#[cfg({macro[1]})]") if macro is not None else None
            if asked is not None:
                yield Gated(asked, region.start + 1, region.end - 1, False)


def first_token(unit: Unit, start: int, end: int) -> int:
    """Return where the first token of a span stands, or its start when there is only white space."""
    position = start
    while position < end:
        blank = _SPACE.match(unit.data, position)
        position = blank.end() if blank is not None else position
        comment = next(_comments_from(unit, position), None)
        if comment is None or comment[0] != position:
            return min(position, end)
        position = comment[1]
    return start


def code_of(unit: Unit, start: int, end: int) -> str:
    """Return the text of a span without comments, with single spaces."""
    parts = []
    position = start
    for first, last in _comments_from(unit, start):
        if last > end:
            break
        parts.append(unit.text(position, first))
        position = last
    parts.append(unit.text(position, end))
    return " ".join(" ".join(parts).split())


def _comments_from(unit: Unit, offset: int) -> Iterator[tuple[int, int]]:
    comments = unit.facts.comments
    return islice(comments, bisect_left(comments, (offset, offset)), None)


def _by_attribute(function: Fn) -> Iterator[Gated]:
    unit, facts = function.unit, function.facts
    for match in _ATTRIBUTE.finditer(unit.data, facts.body_start, facts.body_end):
        close = _closing(unit, match.end(), facts.body_end, 1)
        after = unit.data.find(b"]", close, facts.body_end)
        cfg = parse_cfg(unit.text(match.start(), after + 1)) if after > 0 else None
        if cfg is None or unit.is_comment(match.start()):
            continue
        start = first_token(unit, after + 1, facts.body_end)
        if unit.data[start : start + 1] == b"{":
            yield Gated(cfg, start + 1, _closing(unit, start + 1, facts.body_end, 1), False)
        elif unit.data[start : start + 1] != b"#":
            yield Gated(cfg, start, _statement_end(unit, start, facts.body_end), False)


def _closing(unit: Unit, start: int, end: int, depth: int) -> int:
    """Return where the bracket closes that is open at the start; brackets in texts don't count."""
    for position, byte in _code_bytes(unit, start, end):
        depth += _OPENING.get(byte, 0)
        if depth == 0:
            return position
    return end


def _statement_end(unit: Unit, start: int, end: int) -> int:
    depth = 0
    for position, byte in _code_bytes(unit, start, end):
        depth += _OPENING.get(byte, 0)
        if depth < 0 or (depth == 0 and byte in b",;"):
            return position
    return end


def _code_bytes(unit: Unit, start: int, end: int) -> Iterator[tuple[int, int]]:
    skipped = sorted(
        span for span in (*unit.facts.strings, *unit.facts.comments) if start <= span[0] and span[1] <= end
    )
    position = start
    for first, last in (*skipped, (end, end)):
        for index in range(position, first):
            yield index, unit.data[index]
        position = max(position, last)

"""Reads whose elements are no data: sizes, limits and parameters, or scores that decide what is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable

from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.link.unit import Fn

_ELEMENT = re.compile(r"\[\d+\](?!\s*\.\s*(?:iter|to_vec|chunks|clone)\b)")
_FIRST = re.compile(r"\s*\.(?:first|iter(?:::<\w+>)?\(\)\s*\.next)\(\)")
_LENGTH = re.compile(r"\s*\.(?:len|is_empty)\(\)")
_WHOLE = re.compile(r"\s*\.as_slice\(\)\s*\{")
_FIXED = re.compile(r"_$|\[\s*(?:&?\w+\s*,?\s*)*\]$")
_UNWRAPPED = re.compile(r"^(?:\)|\?|\.(?:unwrap|await|expect\([^)]*\))(?:\(\))?|\s)*$")
_ITERATED = re.compile(r"^\??\s*\.iter\(\)\)?\s*\.(?:all|any)\(")
_COMMENT = re.compile(r"//[^\n]*")
_LONGEST = 60
_WALKS = re.compile(r"^\s*\.iter\(\)(?:\.enumerate\(\))?\s*$")
_ONE = re.compile(r"^\W*(?:(?:\w+::)*\w*Result<\s*)?(?:usize|bool)\b\s*(?:,[^()\[\]]*)?>?\s*$")
_NOTHING = re.compile(r"^\W*(?:\w+::)*\w*Result<\s*\(\s*\)\s*(?:,[^()\[\]]*)?>\s*$")
_IN_RECORD = re.compile(r"\w\s*:\s*\*?$")


def picks_elements(function: Fn, call: Call) -> bool:
    """Say whether of what a call reads only elements at fixed places are used, and its length."""
    name, end = _bound(function, call)
    if not name:
        return False
    body = _COMMENT.sub("", function.text(end, function.facts.body_end))
    is_picked = is_bound_again = False
    for found in re.finditer(rf"(?<![\w.]){name}\b(?!\s*:(?!:))", body):
        before, after = body[: found.start()].rstrip(), body[found.end() : found.end() + _LONGEST]
        if before.endswith(("let", "let mut")):
            is_bound_again = True
        elif _FIRST.match(after) or (_ELEMENT.match(after) and not before.endswith("&")):
            if is_bound_again:
                return True
            is_picked = True
        elif _ELEMENT.match(after) and is_bound_again:
            # A list of one buffer, which the next local of this name holds.
            is_bound_again = False
        elif before.endswith("match") and _WHOLE.match(after) and _takes_fixed_number(function, name):
            is_picked = True
        elif not _LENGTH.match(after):
            return False
    return is_picked


def _takes_fixed_number(function: Fn, name: str) -> bool:
    """Say whether each arm that matches a list takes so many elements as it names, or none."""
    facts = function.facts
    arms = [
        function.text(one.pattern_start, one.pattern_end)
        for one in facts.regions
        if one.kind == RegionKind.ARM
        and function.text(one.condition_start, one.condition_end).startswith(f"{name}.as_slice()")
    ]
    return bool(arms) and all(map(_FIXED.match, arms))


def is_count(function: Fn, calls: Iterable[Call]) -> bool:
    """Say whether a function gives one number or flag that the device has worked out: a size, no data."""
    return _ONE.search(function.facts.return_type) is not None and all(
        picks_elements(function, call) for call in calls
    )


def is_status(function: Fn, call: Call) -> bool:
    """Say whether a function gives nothing but success, for single elements that it reads: a status."""
    return _NOTHING.search(function.facts.return_type) is not None and picks_elements(function, call)


def only_decides(function: Fn, call: Call) -> bool:
    """Say whether a loop over what a call reads only asks of each element, and notes it in a record."""
    name, end = _bound(function, call)
    if not name:
        return False
    loops = [one for one in function.facts.regions if one.kind == RegionKind.LOOP and one.start > end]
    walking = [
        one
        for one in loops
        if (text := function.text(one.condition_start, one.condition_end)).startswith(name)
        and _WALKS.match(text.removeprefix(name))
    ]
    uses = re.findall(rf"(?<![\w.]){name}\b", _COMMENT.sub("", function.text(end, function.facts.body_end)))
    if len(walking) != 1 or len(uses) != 1:
        return False
    element = re.findall(r"\w+", function.text(walking[0].pattern_start, walking[0].pattern_end))[-1]
    conditions = [
        (one.condition_start, one.condition_end)
        for one in function.facts.regions
        if one.kind == RegionKind.THEN
    ]
    word = re.compile(rb"(?<![\w.])" + element.encode() + rb"\b(?!\s*:)")
    found = [one.start() for one in word.finditer(function.unit.data, walking[0].start, walking[0].end)]
    return bool(found) and all(
        any(start <= use < stop for start, stop in conditions)
        or _IN_RECORD.search(function.text(use - _LONGEST, use)) is not None
        for use in found
    )


def bound_truth(function: Fn, call: Call) -> tuple[str, int]:
    """Return the local that holds whether all, or any, of what a call reads is so; and its `let`'s end."""
    for let in function.facts.lets:
        if let.value_start <= call.start < let.value_end:
            name = function.text(let.pattern_start, let.pattern_end)
            rest = function.text(call.end, let.value_end)
            if name.isidentifier() and _ITERATED.match(rest):
                return name, let.end
    return "", 0


def _bound(function: Fn, call: Call) -> tuple[str, int]:
    """Return the local that holds what a call yields, and where its `let` ends."""
    for let in function.facts.lets:
        if let.value_start <= call.start < let.value_end:
            name = function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
            if name.isidentifier() and _UNWRAPPED.match(function.text(call.end, let.value_end)):
                return name, let.end
    return "", 0

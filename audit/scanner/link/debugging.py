"""Reads that only serve a debug print or check, behind a switch that is off unless somebody turns it on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.scanner.extract.facts import Call, CallKind, ExitKind, Region, RegionKind
from audit.scanner.link.flow import Flow, split_operator
from audit.scanner.link.unit import Fn

_VARIABLE = re.compile(r'\benv::var(?:_os)?\s*\(\s*"(?i:\w*(?:debug|trace|dump|verbose)\w*)"')
# What stands behind such a variable where the branch is for whoever has not set it.
_UNSET = re.compile(r"\bis_(?:err|none)\b|!=|\bunwrap_or\(\s*true\b|\bmap_or\(\s*true\b")
_TELLING = frozenset(
    {"print", "println", "eprint", "eprintln", "dbg", "trace", "debug", "info", "warn", "error", "log"}
)
_ASSERTING = re.compile(r"^(?:debug_)?assert(?:_\w+)?$|^panic$")
_ASSIGNED = re.compile(r"(?:^|[;{}])\s*\*?\s*(\w+)(?:[.\w]|\[[^\[\]]*\])*\s*(?:<<|>>|[-+*/%&|^])?=(?![=>])")
_CHANGING = frozenset({"push", "push_str", "insert", "extend", "append", "entry", "set", "store", "replace"})
_NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*')


def is_for_debugging(function: Fn, call: Call, flow: Flow) -> bool:
    """Say whether a read stands behind a debug switch, and what it stands in only prints or asserts."""
    return any(
        any(_is_switch(function, flow, part) for part in split_operator(condition, "&&"))
        and _only_tells(function, region)
        for region, condition in _guards(function, call)
    )


def _guards(function: Fn, call: Call) -> Iterator[tuple[Region, str]]:
    """Yield the branches that a call stands in, and those whose condition it ends, with what holds before."""
    around = frozenset(function.ancestors(call.region))
    for index, region in enumerate(function.facts.regions):
        if region.kind != RegionKind.THEN:
            continue
        if index in around:
            yield region, function.text(region.condition_start, region.condition_end)
        elif region.condition_start <= call.start < region.condition_end:
            yield region, function.text(region.condition_start, call.start).rpartition("&&")[0]


def _is_switch(function: Fn, flow: Flow, condition: str) -> bool:
    """Say whether a condition that holds means that somebody has asked for debug output."""
    condition = condition.strip()
    if condition.isidentifier():
        value = flow.value_of(condition)
        return _is_asked(value) if value else _is_off(function, condition)
    return _is_asked(condition)


def _is_asked(condition: str) -> bool:
    return (
        not condition.startswith("!")
        and _VARIABLE.search(condition) is not None
        and _UNSET.search(condition) is None
    )


def _is_off(function: Fn, name: str) -> bool:
    """Say whether a name is that of a constant of the file, and of `false`."""
    unit = function.unit
    values = [
        unit.text(item.value_start, item.end).strip(" \n=;")
        for item in unit.facts.items
        if item.name == name and item.kind == "const"
    ]
    return bool(values) and all(value == "false" for value in values)


def _only_tells(function: Fn, region: Region) -> bool:
    """Say whether a branch that yields no value prints or asserts, and changes nothing that outlives it."""
    facts = function.facts
    if any(one.kind == RegionKind.ELSE and one.group_start == region.group_start for one in facts.regions):
        return False
    if any(one.kind == ExitKind.RETURN and region.start <= one.start < region.end for one in facts.exits):
        return False
    inside = [call for call in facts.calls if region.start <= call.start < region.end]
    if not any(
        call.kind == CallKind.MACRO and (call.name in _TELLING or _ASSERTING.match(call.name))
        for call in inside
    ):
        return False
    body = _NO_CODE.sub("", function.text(region.start, region.end))
    changed = set(_ASSIGNED.findall(body))
    changed |= {
        function.text(call.start, call.name_start).lstrip("&*(").split(".")[0].strip()
        for call in inside
        if call.kind == CallKind.METHOD and call.name in _CHANGING
    }
    return changed <= _bound_in(function, region)


def _bound_in(function: Fn, region: Region) -> set[str]:
    """Return the names that are bound in a branch, or by its condition."""
    patterns = [
        function.text(let.pattern_start, let.pattern_end)
        for let in function.facts.lets
        if region.start <= let.start < region.end
    ]
    patterns += [
        function.text(one.pattern_start, one.pattern_end)
        for one in function.facts.regions
        if region.start <= one.start < region.end
    ]
    return {word for pattern in patterns for word in re.findall(r"\w+", pattern)}

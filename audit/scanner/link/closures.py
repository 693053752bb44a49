"""Closures that are given to a method: what they run for, and on what."""

from __future__ import annotations

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.unit import Fn

ERROR_ADAPTERS = frozenset({"map_err", "or_else", "unwrap_or_else", "map_or_else", "inspect_err"})
_RECOVERING = frozenset({"or_else", "unwrap_or_else", "map_or_else"})
_CARRYING = frozenset({"and_then", "map", "map_or_else", "map_or", "is_ok_and", "is_some_and"})


def error_adapter(function: Fn, region: int) -> Call | None:
    """Return the `map_err` or the like that a closure is given to."""
    return _adapter(function, region, ERROR_ADAPTERS)


def recovery(function: Fn, region: int) -> Call | None:
    """Return the method that runs a closure when its receiver failed, and goes on with what it yields."""
    adapter = _adapter(function, region, _RECOVERING)
    if adapter is None or adapter.name != "map_or_else":
        return adapter
    start = function.facts.regions[region].group_start
    before = function.text(adapter.arguments_start + 1, start).replace("move", "").strip()
    return None if before else adapter


def carrier(function: Fn, region: int) -> Call | None:
    """Return the method that hands the value of its receiver to a closure."""
    return _adapter(function, region, _CARRYING)


def receiver_of(function: Fn, call: Call) -> str:
    """Return the text of what a method is called on."""
    return function.text(call.start, call.name_start).rstrip(". \n")


def _adapter(function: Fn, region: int, names: frozenset[str]) -> Call | None:
    if function.facts.regions[region].kind != RegionKind.CLOSURE:
        return None
    start = function.facts.regions[region].start
    around = [
        call
        for call in function.facts.calls
        if call.kind == CallKind.METHOD and call.name in names and call.arguments_start <= start < call.end
    ]
    return max(around, key=lambda call: call.arguments_start, default=None)

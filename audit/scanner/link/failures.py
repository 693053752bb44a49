"""Failure paths: what runs because something on the device did not work."""

from __future__ import annotations

from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.flow import Flow
from audit.scanner.link.paths import HostPaths
from audit.scanner.link.unit import Fn

ERROR_ADAPTERS = frozenset({"map_err", "or_else", "unwrap_or_else", "map_or_else", "inspect_err"})


class Failure(NamedTuple):
    """Why a place is on a failure path: its form and the text of what failed."""

    form: str
    subject: str


def failure_of(paths: HostPaths, flow: Flow, call: Call) -> Failure | None:
    """Say which failed attempt leads to a call; None when none does."""
    function = flow.function
    for test in flow.tests_at(call.start, call.region):
        if paths.is_failed_attempt(function, test):
            return Failure("failure-branch", test.subject)
    for index in function.ancestors(call.region):
        if function.facts.regions[index].kind == RegionKind.CLOSURE:
            adapter = closure_adapter(function, index)
            if adapter is not None:
                receiver = function.text(adapter.start, adapter.name_start).rstrip(". \n")
                if paths.attempts(function, receiver):
                    return Failure(f"{adapter.name.replace('_', '-')}-closure", receiver)
    return None


def closure_adapter(function: Fn, region: int) -> Call | None:
    """Return the `map_err` or the like that a closure is given to."""
    start = function.facts.regions[region].start
    around = [
        call
        for call in function.facts.calls
        if call.kind == CallKind.METHOD
        and call.name in ERROR_ADAPTERS
        and call.arguments_start <= start < call.end
    ]
    return max(around, key=lambda call: call.arguments_start, default=None)

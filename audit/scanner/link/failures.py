"""Failure paths: what runs because something on the device did not work."""

from __future__ import annotations

from typing import NamedTuple

from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.link.closures import error_adapter, receiver_of
from audit.scanner.link.flow import Flow
from audit.scanner.link.paths import HostPaths


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
            adapter = error_adapter(function, index)
            if adapter is not None:
                receiver = receiver_of(function, adapter)
                if paths.attempts(function, receiver):
                    return Failure(f"{adapter.name.replace('_', '-')}-closure", receiver)
    return None

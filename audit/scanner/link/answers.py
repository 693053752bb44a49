"""Functions that leave host data to their callers: they answer `None` for it, and for nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

from audit.scanner.extract.facts import Call
from audit.scanner.link.flow import Flow, Test
from audit.scanner.link.places import Place
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn

_SOME = re.compile(r"^(?:let\s+)?Some\(")
_NONE = re.compile(rb"(?<![\w:.])None\b(?!\s*(?:=>|\|))")
_MAYBE = re.compile(r"^\W*\w*Result<\s*Option\s*<")


class Answers:
    """Says of a test of what a function answered where its data is."""

    def __init__(self, resolver: Resolver, flow: Callable[[Fn], Flow]) -> None:
        self._resolver = resolver
        self._flow = flow
        self._for_host: dict[int, bool] = {}

    def place(self, function: Fn, test: Test) -> Place | None:
        """Say where data is when a test holds: on the host, where what was asked has answered `None`."""
        if test.pattern.strip() != "None" if test.holds else not _SOME.match(test.pattern or test.subject):
            return None
        call = self._asked(function, test)
        callees = self._resolver.resolve(function, call) if call is not None else ()
        return Place.HOST if callees and all(map(self._is_none_for_host, callees)) else None

    def _asked(self, function: Fn, test: Test) -> Call | None:
        """Return the call whose value a test looks at, and nothing around it."""
        region = function.facts.regions[test.region]
        return next(
            (
                call
                for call in function.facts.calls
                if region.condition_start <= call.start
                and call.end <= region.condition_end
                and call.is_tried
                and function.text(call.end, region.condition_end).strip() == "?"
            ),
            None,
        )

    def _is_none_for_host(self, callee: Fn) -> bool:
        known = self._for_host.get(callee.index)
        if known is None:
            self._for_host[callee.index] = False
            known = self._for_host[callee.index] = self._leaves_only_host(callee)
        return known

    def _leaves_only_host(self, callee: Fn) -> bool:
        """Say whether each `None` of a function stands where its data is on the host."""
        if not callee.has_body or not _MAYBE.match(callee.facts.return_type):
            return False
        flow = self._flow(callee)
        found = [
            one.start()
            for one in _NONE.finditer(callee.unit.data, callee.facts.body_start, callee.facts.body_end)
        ]
        return bool(found) and all(self._is_for_host(flow, offset) for offset in found)

    def _is_for_host(self, flow: Flow, offset: int) -> bool:
        told = (flow.place(test) for test in flow.tests_at(offset))
        return next((place for place in told if place is not None), None) is Place.HOST

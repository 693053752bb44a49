"""Whether the opt-in gates of a function hold: each read behind one, each with a warning that tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern


class GateCall(NamedTuple):
    """A call that checks the opt-in, and the helper that does so; none when the variable is read here."""

    call: Call
    helper: Fn | None


class Gating:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        words = summaries.profile.gate
        self._warnings = frozenset(words.warning_macros)
        self._variable = any_pattern(words.environment_patterns)
        self._kernel = re.compile(r"\b(?:" + "|".join(map(re.escape, words.kernel_fields)) + r")\b")

    def gates(self, function: Fn) -> list[GateCall]:
        """Return the calls of a function that check the opt-in, in source order."""
        if function.index not in self._asking and function.index not in self._summaries.gates:
            return []
        found = []
        for call in function.facts.calls:
            if self._summaries.is_gate_read(function, call):
                found.append(GateCall(call, None))
                continue
            for one in self._summaries.resolver.resolve(function, call):
                if one.index in self._summaries.gates:
                    found.append(GateCall(call, one))
                    break
        return found

    @cached_property
    def _asking(self) -> frozenset[int]:
        """The functions that call one which checks the opt-in: most don't, and need no look at each call."""
        graph = self._summaries.graph
        gates = [graph.workspace.functions[index] for index in self._summaries.gates]
        return frozenset(function.index for gate in gates for function, _ in graph.calls_of(gate))

    def is_asked_each_time(self, function: Fn, gate: GateCall) -> bool:
        """Say whether a gate reads the variable at each call, and not once for the life of the process."""
        return not self._summaries.gates[(gate.helper or function).index].is_once

    def is_behind(self, function: Fn, call: Call) -> bool:
        """Say whether a call only runs when the user opted in."""
        return self._summaries.pardon(function, call) == "opt-in"

    def warning_of(self, function: Fn, gate: GateCall) -> tuple[Fn, Call] | None:
        """Return the warning that a gate brings, and the function it stands in."""
        if gate.helper is not None:
            warning = next(iter(self._warning_calls(gate.helper)), None)
            if warning is not None:
                return gate.helper, warning
        flow = self._summaries.flow(function)
        for call in self._warning_calls(function):
            if call.start > gate.call.start and any(
                not test.pattern and flow.told(test.subject, test.holds, self._summaries.opens, _never)
                for test in flow.tests_at(call.start, call.region)
            ):
                return function, call
        return None

    def names_its_case(self, function: Fn, warning: Call) -> bool:
        """Say whether a warning names the kernel and the variable that the user can unset."""
        text = function.text(warning.arguments_start, warning.end)
        return bool(self._variable.search(text)) and (
            bool(self._kernel.search(text)) or function.name.removeprefix("gpu_") in text
        )

    def _warning_calls(self, function: Fn) -> Iterator[Call]:
        return (
            call
            for call in function.facts.calls
            if call.kind == CallKind.MACRO and call.name in self._warnings
        )


def _never(subject: str, pattern: str, holds: bool) -> bool | None:
    return None

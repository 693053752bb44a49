"""Opt-in gates: where a user says that computing on the host is wanted."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_ENVIRONMENT_READS = frozenset({"var", "var_os"})


class Gate(NamedTuple):
    """An opt-in gate: does it warn, and does it refuse (return an error) by itself when not opted in?"""

    warns: bool
    refuses: bool


class Gates:
    """Functions that check the opt-in, by index."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        self._text = any_pattern(graph.profile.gate.environment_patterns)
        self.found: dict[int, Gate] = {}
        self._find()

    def is_gate_read(self, function: Fn, call: Call) -> bool:
        """Say whether a call reads the opt-in variable of the environment."""
        return call.name in _ENVIRONMENT_READS and bool(
            self._text.search(function.text(call.arguments_start, call.end))
        )

    def _find(self) -> None:
        named = frozenset(self._graph.profile.gate.functions)
        warnings = frozenset(self._graph.profile.gate.warning_macros)
        for name in (*_ENVIRONMENT_READS, *named):
            for function, call in self._graph.calls_by_name.get(name, ()):
                if call.name in named or self.is_gate_read(function, call):
                    calls = function.facts.calls
                    self.found[function.index] = Gate(
                        warns=any(one.kind == CallKind.MACRO and one.name in warnings for one in calls),
                        refuses=any(self._graph.is_error(one) for one in calls),
                    )

    def gate_of(self, function: Fn, call: Call) -> Gate | None:
        """Return the gate that a call checks: a helper's, or the variable itself."""
        if self.is_gate_read(function, call):
            return self.found.get(function.index)
        for callee in self._graph.resolver.resolve(function, call):
            gate = self.found.get(callee.index)
            if gate is not None:
                return gate
        return None

    @cached_property
    def _gate_names(self) -> frozenset[str]:
        return frozenset(self._graph.workspace.functions[index].name for index in self.found) | frozenset(
            self._graph.profile.gate.functions
        )

    def opens(self, condition: str, holds: bool) -> bool | None:
        """Say whether an atomic condition that holds means that the user opted in."""
        mentions = any(f"{name}(" in condition for name in self._gate_names) or (
            "env" in condition and self._text.search(condition)
        )
        if not mentions:
            return None
        is_inverted = "is_err()" in condition or "is_none()" in condition
        return holds != is_inverted

"""Opt-in gates: where a user says that computing on the host is wanted."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_ENVIRONMENT_READS = frozenset({"var", "var_os"})
_RUN_ONCE = frozenset({"get_or_init", "get_or_try_init", "call_once", "lazy_static", "thread_local"})
_ONCE_TYPES = re.compile(r"\b(?:LazyLock|LazyCell|Lazy)\b")


class Gate(NamedTuple):
    """An opt-in gate.

    Does it warn, does it refuse (return an error) by itself when not opted in, and does it remember what it
    found the first time?
    """

    warns: bool
    refuses: bool
    is_once: bool = False


class Gates:
    """Functions that check the opt-in, by index."""

    def __init__(self, graph: CallGraph, found: dict[int, Gate] | None = None) -> None:
        """Find them, unless it is known what another process found in the same workspace."""
        self._graph = graph
        self._text = any_pattern(graph.profile.gate.environment_patterns)
        self.found: dict[int, Gate] = found or {}
        if found is None:
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
                        is_once=self.is_read_once(function, call),
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

    def found_once(self, function: Fn, call: Call) -> bool:
        """Say whether the gate that a call checks remembers its first answer."""
        gate = self.gate_of(function, call)
        return gate is not None and gate.is_once

    def is_read_once(self, function: Fn, call: Call) -> bool:
        """Say whether a read of the variable stands inside an initialiser that runs once."""
        return any(
            one.arguments_start < call.start < one.end
            and (
                one.name in _RUN_ONCE
                or (one.name == "new" and _ONCE_TYPES.search(function.text(one.start, one.name_start)))
            )
            for one in function.facts.calls
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        functions = self._graph.workspace.functions
        found = {functions[index].name for index, gate in self.found.items() if not gate.is_once}
        return frozenset(found) | frozenset(self._graph.profile.gate.functions)

    @cached_property
    def _once_names(self) -> frozenset[str]:
        functions = self._graph.workspace.functions
        return frozenset(functions[index].name for index, gate in self.found.items() if gate.is_once)

    def mentions(self, condition: str) -> bool:
        """Say whether a condition asks a gate that is read at each call."""
        return any(f"{name}(" in condition for name in self._names) or (
            "env" in condition and self._text.search(condition) is not None
        )

    def mentions_once(self, condition: str) -> bool:
        """Say whether a condition asks a gate that remembers its first answer."""
        return any(f"{name}(" in condition for name in self._once_names)

    def opens(self, condition: str, holds: bool) -> bool | None:
        """Say whether an atomic condition that holds means that the user opted in at this call."""
        return _outcome(condition, holds) if self.mentions(condition) else None

    def opens_once(self, condition: str, holds: bool) -> bool | None:
        """Say whether an atomic condition that holds means that the user opted in at the first call."""
        return _outcome(condition, holds) if self.mentions_once(condition) else None


def _outcome(condition: str, holds: bool) -> bool:
    is_inverted = "is_err()" in condition or "is_none()" in condition
    return holds != is_inverted

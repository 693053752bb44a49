"""Whether a user opted in to a host read: which gate stands before it, and whether the gate holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.link.flow import Flow, Test
from audit.scanner.link.gates import Gates
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn

Opens = Callable[[str, bool], bool | None]

ONCE = "gate-read-once"
PARTIAL = "gate-covers-part"
# A device that is refused unless the caller has set a flag of that name.
_FLAG = r"!\s*[\w.]*\w*fallback\w*(?:\(\))?"
_UNLESS_FLAG = re.compile(rf"&&\s*{_FLAG}\s*$|^\s*{_FLAG}\s*&&")


class Consents:
    """Answers for one call graph."""

    def __init__(self, graph: CallGraph, gates: Gates) -> None:
        self._graph = graph
        self._gates = gates

    def is_given(self, function: Fn, call: Call, tests: Sequence[Test]) -> bool:
        """Say whether a gate that is read at each call stands before a read and speaks for its operand."""
        return self._is_given_for(function, call, tests, self._graph.operand(function, call))

    def is_given_by_callers(self, function: Fn, read: Call) -> bool:
        """Say whether a function that only its own file can call is called behind gates that speak for it.

        A gate of a method speaks for the fields of its own type, as the method that it calls has them, and
        for what it hands over.
        """
        operand = self._graph.operand(function, read)
        named = re.match(r"[&*(\s]*(self(?=\.)|\w+)", operand)
        if function.is_public or named is None:
            return False
        callers = [(one, call) for one, call in self._graph.callers(function) if self._graph.is_examined(one)]
        return bool(callers) and all(
            self._is_given_by(function, operand if named[1] == "self" else named[1], one, call)
            for one, call in callers
        )

    def is_given_for_parameters(self, function: Fn) -> bool:
        """Say whether a function that only its own file can call is given tensors that gates speak for."""
        names_device = self._graph.operands.names_device_type
        given = [one.name for one in function.facts.parameters if names_device(one.type)]
        callers = [(one, call) for one, call in self._graph.callers(function) if self._graph.is_examined(one)]
        return bool(given and callers and not function.is_public) and all(
            self._is_given_by(function, name, one, call) for one, call in callers for name in given
        )

    def _is_given_by(self, function: Fn, operand: str, caller: Fn, call: Call) -> bool:
        tests = self._graph.flow(caller).tests_at(call.start, call.region)
        if operand.lstrip("&*( ").startswith("self."):
            is_own = caller.self_type == function.self_type and self._graph.operand(caller, call) == "self"
            return is_own and self._is_given_for(caller, call, tests, operand)
        names = [one.name for one in function.facts.parameters if one.name != "self"]
        given = self._graph.resolver.arguments(caller, call)
        if operand not in names or len(names) != len(given):
            return False
        return self._is_given_for(caller, call, tests, given[names.index(operand)])

    def _is_given_for(self, function: Fn, call: Call, tests: Sequence[Test], operand: str) -> bool:
        if any(self._allows(function, test, self._gates.mentions, self._gates.opens) for test in tests):
            return True
        if any(self._is_refused_unless_flagged(test) for test in tests):
            return True
        around = frozenset(function.ancestors(call.region))
        return any(
            not self._gates.found_once(function, gate) and self._covers(function, gate, operand)
            for gate in self._refusing_gates(function, call, around)
        ) or self._asks_on_device(function, call, around)

    def _is_refused_unless_flagged(self, test: Test) -> bool:
        """Say whether a branch before has left with device data, unless a flag of the caller lets it by."""
        return (
            not (test.encloses or test.holds or test.pattern)
            and _UNLESS_FLAG.search(test.subject) is not None
            and self._graph.tests.mentions_device(test.subject)
        )

    def flaw(self, function: Fn, call: Call) -> str:
        """Say why the gate before a read does not hold; empty when none stands there, or when it holds."""
        tests = self._graph.flow(function).tests_at(call.start, call.region)
        if any(
            self._allows(function, test, self._gates.mentions_once, self._gates.opens_once) for test in tests
        ):
            return ONCE
        around = frozenset(function.ancestors(call.region))
        for gate in self._refusing_gates(function, call, around):
            return ONCE if self._gates.found_once(function, gate) else PARTIAL
        return ""

    def _allows(self, function: Fn, test: Test, mentions: Callable[[str], bool], opens: Opens) -> bool:
        """Say whether a test lets nobody through but host data and users who opted in."""
        flow = self._graph.flow(function)
        if test.pattern or not mentions(flow.expand(test.subject)):
            return False

        def atom(condition: str, holds: bool) -> bool | None:
            opened = opens(condition, holds)
            if opened is not None:
                return opened
            place = self._graph.tests.atom_place(condition, holds)
            return None if place is None else place is Place.HOST

        return bool(flow.told(test.subject, test.holds, atom, _never))

    def _refusing_gates(self, function: Fn, call: Call, around: frozenset[int]) -> list[Call]:
        """Return the gates before a call that return an error unless the user opted in."""
        found = []
        for other in function.facts.calls:
            if other.start < call.start and other.region in around and other.is_tried:
                gate = self._gates.gate_of(function, other)
                if gate is not None and gate.refuses:
                    found.append(other)
        return found

    def _covers(self, function: Fn, gate: Call, read: str) -> bool:
        """Say whether a gate is given what is read: one that is given no tensors speaks for all."""
        given = function.text(gate.arguments_start, gate.end)
        named = [one for one in self._inputs(function) if re.search(rf"(?<![\w.]){re.escape(one)}\b", given)]
        operand = re.match(r"[&*(\s]*(?:mut\s+)?((?:self\.)?\w+)", read)
        if not named or operand is None:
            return True
        is_input = operand[1] in self._inputs(function)
        return not is_input or operand[1] in named or (operand[1].startswith("self.") and "self" in named)

    def _inputs(self, function: Fn) -> list[str]:
        """Return the tensors that a function is given: parameters, and the fields of its own type."""
        names = self._graph.operands.names_device_type
        fields = self._graph.workspace.struct_fields.get(function.self_type, {})
        found = [
            parameter.name
            for parameter in function.facts.parameters
            if parameter.name == "self" or names(parameter.type)
        ]
        return found + [f"self.{name}" for name, type_ in fields.items() if names(type_)]

    def _asks_on_device(self, function: Fn, call: Call, around: frozenset[int]) -> bool:
        """Say whether a branch before a read is the device's, and is left alive only by who opted in."""
        flow = self._graph.flow(function)
        for index, region in enumerate(function.facts.regions):
            if (
                region.kind == RegionKind.THEN
                and region.parent in around
                and region.group_end <= call.start
                and not flow.leaves(index)
                and self._is_all_of_device(flow, flow.entering(index))
            ):
                inside = [
                    one
                    for one in flow.tests_at(region.end - 1, index)
                    if not one.encloses and one.group >= region.start
                ]
                if any(
                    self._allows(function, one, self._gates.mentions, self._gates.opens) for one in inside
                ) or any(one.region == index for one in self._refusing_gates_in(function, index)):
                    return True
        return False

    def _refusing_gates_in(self, function: Fn, index: int) -> list[Call]:
        end = function.facts.regions[index].end
        found = []
        for other in function.facts.calls:
            if other.region == index and other.start < end and other.is_tried:
                gate = self._gates.gate_of(function, other)
                if gate is not None and gate.refuses and not gate.is_once:
                    found.append(other)
        return found

    def _is_all_of_device(self, flow: Flow, test: Test) -> bool:
        """Say whether a test holds for all device data, so that the rest lies on the host."""
        return (
            flow.condition_place(test.subject, True) is Place.DEVICE
            and flow.condition_place(test.subject, False) is Place.HOST
        )


def _never(subject: str, pattern: str, holds: bool) -> bool | None:
    return None

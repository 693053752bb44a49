"""Host tensors that operators answer with where their own tensors may be on a device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from audit.scanner.extract.facts import Call
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn, Unit

_FILLED = re.compile(r"(?:\bvec!\s*|^)\[[^\[\];]+;[^\[\];]+\]")
_LIST = re.compile(rb"\[[^\[\];]+;[^\[\];]+\]")
_MADE_OF_SELF = re.compile(r"\bSelf\b")
# Whoever asks for the device, or for what lies on it, does not answer from the host by default.
_PLACED = re.compile(r"\.(?:device|is_\w+|gpu_handle)\(\)|\.data\w*\(|_opt_in\b")


class HostConstants:
    """Finds them in one call graph.

    An operator that fills a list with one value, in the shape of a tensor that it holds or is given, computes
    nothing; but what it returns lies on the host, wherever that tensor is.
    """

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph

    def found(self) -> Iterator[tuple[Fn, Call]]:
        """Yield the functions, and the calls that make their storage."""
        for function in chain.from_iterable(
            unit.told_once(_filling, _filling) for unit in self._graph.workspace.units.values()
        ):
            if self._answers_so(function):
                made = next(filter(lambda call: self._is_filled(function, call), function.facts.calls), None)
                if made is not None and self._has_shape_of_its_tensor(function):
                    yield function, made
        for name in self._graph.profile.transfer.in_place_uploads:
            for function, call in self._graph.calls_by_name.get(name, ()):
                if call.name == name and self._overwrites_itself(function, call):
                    yield function, call

    def _answers_so(self, function: Fn) -> bool:
        """Say whether an operator returns a tensor, and uploads none."""
        return (
            self._graph.operands.names_device_type(function.facts.return_type)
            and self._graph.operands.holds_tensor(function)
            and self._graph.is_examined(function)
            and not self._graph.is_gpu_located(function)
            and self._graph.profile.uploads.isdisjoint(call.name for call in function.facts.calls)
        )

    def _is_filled(self, function: Fn, call: Call) -> bool:
        made = function.text(call.start, call.end)
        return bool(
            self._graph.operands.makes_host_storage(function.text(call.start, call.arguments_start + 1))
            and _FILLED.search(made)
        )

    def _has_shape_of_its_tensor(self, function: Fn) -> bool:
        operands = self._graph.operands
        fields = self._graph.workspace.struct_fields.get(function.self_type, {})
        tensors = [f"self.{name}" for name, type_ in fields.items() if operands.names_device_type(type_)]
        tensors += [one.name for one in function.facts.parameters if operands.names_device_type(one.type)]
        body = function.text(function.facts.body_start, function.facts.body_end)
        return any(re.search(rf"(?<![\w.]){re.escape(one)}\.shape\(\)", body) for one in tensors)

    def _overwrites_itself(self, function: Fn, call: Call) -> bool:
        """Say whether a method of a tensor overwrites it with a list that it fills with one value."""
        if not self._graph.operands.names_device_type(function.self_type) or function.is_test_code:
            return False
        operand = self._graph.operand(function, call)
        arguments = function.text(call.arguments_start, call.end).strip("(&) ")
        value = self._graph.flow(function).value_of(arguments) if arguments.isidentifier() else arguments
        return operand == "self" and self._graph.is_examined(function) and bool(_FILLED.search(value))


def _filling(unit: Unit) -> list[Fn]:
    """Return the public functions of a file with one branch that fill a list, and ask for no device."""
    return [function for function in unit.functions or () if _may_fill(function)]


def _may_fill(function: Fn) -> bool:
    facts = function.facts
    return (
        function.has_body
        and function.is_public
        and len(facts.regions) == 1
        and not _MADE_OF_SELF.search(facts.return_type)
        and _LIST.search(function.unit.data, facts.body_start, facts.body_end) is not None
        and any(_FILLED.search(function.text(call.start, call.end)) for call in facts.calls)
        and not _PLACED.search(function.text(facts.body_start, facts.body_end))
    )

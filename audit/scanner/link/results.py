"""Results that are computed on the host, and uploaded or handed out where the device was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.link.constants import HostConstants
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.launches import Launches
from audit.scanner.link.pardons import Pardons
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern


class Result(NamedTuple):
    """A result: the call that makes it, what is uploaded, and what makes that legal, if anything does."""

    function: Fn
    call: Call
    operand: str
    pardon: str


class HostResults:
    """Finds them in one call graph."""

    def __init__(self, graph: CallGraph, launches: Launches, pardons: Pardons) -> None:
        self._graph = graph
        self._launches = launches
        self._pardons = pardons
        self._gpu_name = any_pattern(graph.profile.gpu.function_patterns)
        self._host_name = any_pattern(graph.profile.transfer.host_name_patterns)

    def of_operators(self, reading: Mapping[int, tuple[str, ...]]) -> Iterator[Result]:
        """Yield the results of operators that read nothing, uploaded for the device or not.

        They work from host copies of their parameters, made when they were built, or from nothing at all.
        `reading` has the pardons of what functions read, as it grows.
        """
        for function, call in self._uploads():
            if self._may_have_result(function, reading) and (
                self._is_host_result(function, call, reading) or self._is_made_on_host(function, call)
            ):
                yield self._result(function, call)
        for function, call in HostConstants(self._graph).found():
            if not reading.get(function.index) and self._may_have_result(function, reading):
                pardon = self._pardons.pardon_upload(function, call)
                yield Result(function, call, self._graph.operand(function, call), pardon)

    def for_device(self) -> Iterator[Result]:
        """Yield what a function of the host makes for an operator, in a branch for the device.

        The operator's kernel stands on another branch: what it does not cover is computed on the host.
        """
        for function, call in self._uploads():
            if (
                function.index in self._launches.found
                and self._graph.is_examined(function)
                and not self._graph.is_gpu_located(function)
                and self._graph.place_at(function, call) is Place.DEVICE
            ):
                made = self._maker(function, self._graph.operand(function, call))
                if made is not None and self._is_of_host(function, made):
                    yield self._result(function, call)

    def _uploads(self) -> Iterator[tuple[Fn, Call]]:
        for name in sorted(self._graph.profile.uploads):
            for function, call in self._graph.calls_by_name.get(name, ()):
                if call.name == name:
                    yield function, call

    def _result(self, function: Fn, upload: Call) -> Result:
        operand = self._graph.operand(function, upload)
        pardon = self._pardons.pardon_upload(function, upload)
        return Result(function, self._maker(function, operand) or upload, operand, pardon)

    def _is_of_host(self, function: Fn, made: Call) -> bool:
        """Say whether a call is of a function that is named for the host, reaches no device, and makes."""
        makers = self._graph.resolver.resolve(function, made)
        return bool(self._host_name.search(made.name) and makers) and all(
            one.index not in self._launches.found and self._pardons.answers.makes_storage(one)
            for one in makers
        )

    def _may_have_result(self, function: Fn, reading: Mapping[int, tuple[str, ...]]) -> bool:
        return (
            all(pardon in OPERANDS_PARDONS for pardon in reading.get(function.index, ()))
            and function.index not in self._launches.found
            and function.name not in self._graph.transfers
            and self._graph.is_examined(function)
        )

    def _is_host_result(self, function: Fn, call: Call, reading: Mapping[int, tuple[str, ...]]) -> bool:
        if reading.get(function.index):
            return False
        operands = self._graph.operands
        return (
            operands.holds_tensor(function)
            and self._graph.is_for_device(function, call)
            and operands.names_device_type(function.facts.return_type)
            and self._makes_host_tensor(function)
        )

    def _makes_host_tensor(self, function: Fn) -> bool:
        return self._pardons.answers.makes_storage(function) or any(
            call.name == "from_vec" for call in function.facts.calls
        )

    def _is_made_on_host(self, function: Fn, call: Call) -> bool:
        """Say whether GPU code uploads what it has computed on the host from nothing that it was given."""
        if not (self._graph.is_gpu_located(function) or self._gpu_name.search(function.name)):
            return False
        operands = self._graph.operands
        if self._pardons.is_setup(function) or not operands.names_device_type(function.facts.return_type):
            return False
        value = self._graph.flow(function).value_of(root(self._graph.operand(function, call)))
        slices = (
            one.name for one in function.facts.parameters if not operands.type_may_be_on_device(one.type)
        )
        return ".map(" in value and not any(re.search(rf"\b{one}\b(?!\s+as\b)", value) for one in slices)

    def _maker(self, function: Fn, operand: str) -> Call | None:
        """Return the call that yields what a local is bound to."""
        name = root(operand)
        for let in function.facts.lets:
            bound = function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
            if bound == name and let.value_start:
                inside = (one for one in function.facts.calls if let.value_start <= one.start < let.value_end)
                return min(inside, key=lambda one: (one.start, -one.end), default=None)
        return None


def root(operand: str) -> str:
    """Return the name that an operand begins with."""
    return re.split(r"\W", operand.lstrip("&*("), maxsplit=1)[0]


OPERANDS_PARDONS = frozenset({"rejected", "refusing-access"})

"""Functions whose answer is host data: for them reading from the device is what they are for."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_CONVERTS = re.compile(r"(?:^|_)(?:to|as|into|from)_")
_WALKED = re.compile(r"\s*&?\w+\s*$")
_ITERATES = frozenset({"iter", "into_iter"})


class HostAnswers:
    """Answers for one call graph."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        self._host_data: dict[int, bool] = {}
        self._records: dict[int, bool] = {}
        self._optimizer_path = any_pattern(graph.profile.autograd.optimizer_path_patterns)

    def returns_host_data(self, function: Fn) -> bool:
        """Say whether a function is for reading: its result is host data, and it does nothing else."""
        known = self._host_data.get(function.index)
        if known is None:
            known = self._host_data[function.index] = self._is_for_reading(function)
        return known

    def returns_records(self, function: Fn) -> bool:
        """Say whether what a function reads ends in records of the host.

        It is no operator: nobody gives it a tensor, and it makes none.
        """
        known = self._records.get(function.index)
        if known is None:
            known = self._records[function.index] = self._ends_in_records(function)
        return known

    def makes_storage(self, function: Fn) -> bool:
        """Say whether a function builds a tensor's storage from host data."""
        return any(
            self._graph.operands.makes_host_storage(function.text(call.start, call.arguments_start + 1))
            for call in function.facts.calls
        )

    def makes_tensors(self, function: Fn) -> bool:
        """Say whether a function builds tensors or uploads: then it does more than read."""
        return any(
            self._graph.uploads(function, call)
            or self._graph.operands.makes_host_storage(function.text(call.start, call.arguments_start + 1))
            for call in function.facts.calls
        )

    def _is_for_reading(self, function: Fn) -> bool:
        return (
            self._graph.operands.returns_host_data(function)
            and not self._graph.is_part_of_optimizer(function)
            and not self._is_backend_default(function)
            and not self.makes_tensors(function)
            and not self._computes_element(function)
            and not self._reduces_on_host(function)
            and not self._computes_positions(function)
        )

    def _ends_in_records(self, function: Fn) -> bool:
        names_device = self._graph.operands.names_device_type
        return (
            not any(names_device(one.type) for one in function.facts.parameters if one.name != "self")
            and self._graph.operands.returns_records(function)
            and not self._graph.is_gpu_located(function)
            and not self._graph.is_part_of_optimizer(function)
            and not self._is_backend_default(function)
            and not self.makes_tensors(function)
            and not any(
                call.kind == CallKind.PATH and names_device(function.text(call.start, call.name_start))
                for call in function.facts.calls
            )
        )

    def _computes_positions(self, function: Fn) -> bool:
        """Say whether a function computes positions from a tensor that it is given and reads itself."""
        if not self._graph.operands.returns_positions(function) or _CONVERTS.search(function.name):
            return False
        given = {
            one.name
            for one in function.facts.parameters
            if one.name != "self" and self._graph.operands.names_device_type(one.type)
        }
        downloads = self._graph.profile.downloads
        return any(
            call.name in downloads and self._graph.operand(function, call).lstrip("&") in given
            for call in function.facts.calls
        )

    def _reduces_on_host(self, function: Fn) -> bool:
        """Say whether GPU code, or an optimizer, reads device data whole and reduces it on the host."""
        if not (self._graph.is_gpu_located(function) or self._optimizer_path.search(function.unit.path)):
            return False
        downloads = self._graph.profile.downloads
        names = [call.name for call in function.facts.calls]
        loops = (
            function.text(region.condition_start, region.condition_end)
            for region in function.facts.regions
            if region.kind == RegionKind.LOOP
        )
        return (
            self._graph.operands.returns_scalar(function)
            and any(name in downloads for name in names)
            and (not _ITERATES.isdisjoint(names) or any(map(_WALKED.match, loops)))
        )

    def _is_backend_default(self, function: Fn) -> bool:
        """Say whether a function is what a device backend does unless it overrides it."""
        return function.is_trait_default and function.trait in self._graph.profile.launch.backend_traits

    def _computes_element(self, function: Fn) -> bool:
        """Say whether a function computes one element from data that it downloads itself."""
        downloads = self._graph.profile.downloads
        return self._graph.operands.returns_element(function) and any(
            call.name in downloads and not _is_handed_out(function, call) for call in function.facts.calls
        )


def _is_handed_out(function: Fn, call: Call) -> bool:
    """Say whether what a call yields is the value of its branch, as it is."""
    region = function.facts.regions[call.region]
    rest = function.text(call.end, region.tail_end)
    return region.tail_start <= call.start and rest.strip("? \n)") == ""

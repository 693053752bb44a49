"""Which functions refuse device data with an error."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.graph import CallGraph, Reason
from audit.scanner.link.launches import Launches
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn

# Whether a gradient is wanted, and nothing else.
_ASKS_FOR_GRADIENT = re.compile(r"\s*[\w.]+\.requires_grad\(\)\s*")


class Rejections:
    """Functions by index, with the reason."""

    def __init__(self, graph: CallGraph, launches: Launches, found: dict[int, Reason] | None = None) -> None:
        """Find them, unless it is known what another process found in the same workspace."""
        self._graph = graph
        self._launches = launches
        self._refusing = frozenset(graph.profile.transfer.refusing_accessors)
        self.found: dict[int, Reason] = found or {}
        if found is None:
            self._find()

    def _find(self) -> None:
        telling = self._graph.erring | self._graph.calling(self._refusing)
        for function in self._graph.workspace.functions:
            if (
                function.index not in telling
                or not function.has_body
                or function.is_test_code
                or function.name in self._graph.transfers
            ):
                continue
            reason = self._own_rejection(function)
            if reason is not None:
                self.found[function.index] = reason
        self._graph.spread(self.found, self._passes_rejection_on, list(self.found))

    def _own_rejection(self, function: Fn) -> Reason | None:
        for call in function.facts.calls:
            if self._graph.is_error(call) and self._refuses_here(function, call):
                return Reason(call, None)
            if (
                call.name in self._refusing
                and call.region == 0
                and self.is_refusing_access(function, call)
                and not self._is_rest(function, call)
            ):
                return Reason(call, None)
        return None

    def _refuses_here(self, function: Fn, call: Call) -> bool:
        """Say whether an `Err(..)` is the answer to nothing but a device test at the top of a function."""
        region = function.facts.regions[call.region]
        if call.region == 0 or region.parent != 0:
            return False
        flow = self._graph.flow(function)
        entering = flow.tests_at(call.start, call.region)
        if self._is_rest(function, call):
            return False
        if self._has_working_branch(function, call):
            return False
        if region.kind == RegionKind.ARM and self._has_working_device_arm(function, call.region):
            return False
        return (
            bool(entering)
            and flow.place(entering[0]) is Place.DEVICE
            and flow.place(entering[0]._replace(holds=not entering[0].holds)) is Place.HOST
        )

    def _has_working_branch(self, function: Fn, error: Call) -> bool:
        """Say whether work on the device returns before, in the branch that refuses: the rest is refused."""
        flow = self._graph.flow(function)
        start = function.facts.regions[error.region].start
        launches = [
            one.start
            for one in function.facts.calls
            if start <= one.start < error.start and self._puts_to_work(function, one)
        ]
        return bool(launches) and any(
            launches[0] < region.end <= error.start
            and index != error.region
            and error.region in function.ancestors(index)
            and flow.returns(index)
            for index, region in enumerate(function.facts.regions)
        )

    def _puts_to_work(self, function: Fn, call: Call) -> bool:
        return self._launches.is_launch(function, call) or any(
            one.index in self._launches.found for one in self._graph.resolver.resolve(function, call)
        )

    def _is_rest(self, function: Fn, call: Call) -> bool:
        """Say whether a device branch that launches stands before: then only the rest is refused."""
        flow = self._graph.flow(function)
        for region in function.facts.regions:
            if region.kind != RegionKind.THEN or region.group_end > call.start:
                continue
            condition = function.text(region.condition_start, region.condition_end)
            if flow.condition_place(condition, True) is Place.DEVICE and any(
                region.start <= one.start < region.end and self._launches.is_launch(function, one)
                for one in function.facts.calls
            ):
                return True
        return False

    def _has_working_device_arm(self, function: Fn, arm: int) -> bool:
        """Say whether another arm of the match takes device data and does not refuse it."""
        flow = self._graph.flow(function)
        group = function.facts.regions[arm].group_start
        refusing = {call.region for call in function.facts.calls if self._graph.is_error(call)}
        return any(
            region.kind == RegionKind.ARM
            and region.group_start == group
            and index not in refusing
            and flow.place(flow.entering(index)) is not Place.HOST
            for index, region in enumerate(function.facts.regions)
        )

    def is_refusing_access(self, function: Fn, call: Call) -> bool:
        """Say whether a call returns an error when its receiver is on a device, and passes it on."""
        if (
            call.name not in self._refusing
            or call.kind != CallKind.METHOD
            or not self._graph.propagates(function, call)
        ):
            return False
        operand = function.text(call.start, call.name_start).rstrip(". \n")
        if not self._graph.operands.may_be_on_device(function, self._graph.flow(function), operand, call):
            return False
        return self._graph.place_at(function, call) is not Place.HOST

    def _passes_rejection_on(self, function: Fn, call: Call) -> bool:
        if (
            not _is_always_reached(function, call)
            or function.is_test_code
            or function.name in self._graph.transfers
            or not self._graph.propagates(function, call)
        ):
            return False
        if self._graph.place_at(function, call) is Place.HOST:
            return False
        return self._graph.gets_device_data(function, call)


def _is_always_reached(function: Fn, call: Call) -> bool:
    """Say whether a function makes a call whenever it computes: a gradient that nobody wants is no work."""
    regions = function.facts.regions
    return all(
        region == 0
        or (
            regions[region].kind == RegionKind.THEN
            and _ASKS_FOR_GRADIENT.fullmatch(
                function.text(regions[region].condition_start, regions[region].condition_end)
            )
        )
        for region in function.ancestors(call.region)
    )

"""Device work inside a function: what launches, where, and what comes of it."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import Call, CallKind, Region, RegionKind
from audit.scanner.link.flow import Flow, Place
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn

_CALLABLE = re.compile(r"\bFn(?:Mut|Once)?\s*\(([^()]*)\)")


def _names_an_operator(function: Fn, region: Region) -> bool:
    """Say whether a branch is the arm of an interpreter: other arms are other operators, not other ways."""
    pattern = function.text(region.pattern_start, region.pattern_end).lstrip()
    return region.kind == RegionKind.ARM and pattern.startswith('"')


class DeviceWork:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries

    def is_device_call(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device, by itself or through its callee."""
        profile = self._summaries.profile
        if call.name in profile.uploads or call.name in profile.downloads:
            return False
        if call.kind != CallKind.MACRO and (
            self._summaries.is_launch(function, call) or self._calls_given_model(function, call)
        ):
            return True
        return any(
            callee.index in self._summaries.launching
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def launches(self, function: Fn) -> list[Call]:
        """Return the calls of a function that put work on the device."""
        if function.index not in self._summaries.launching and not self._takes_model(function):
            return []
        return [call for call in function.facts.calls if self.is_device_call(function, call)]

    def _takes_model(self, function: Fn) -> bool:
        """Say whether a parameter is a function of tensors: a user's model, which runs where its input is."""
        header = function.text(function.facts.name_start, function.facts.body_start)
        return "Fn" in header and any(
            self._summaries.operands.names_device_type(found[1]) for found in _CALLABLE.finditer(header)
        )

    def _calls_given_model(self, function: Fn, call: Call) -> bool:
        return (
            call.kind == CallKind.PLAIN
            and any(parameter.name == call.name for parameter in function.facts.parameters)
            and self._takes_model(function)
        )

    def launches_in(self, function: Fn, start: int, end: int) -> bool:
        """Say whether device work stands in a span."""
        return any(start <= call.start < end for call in self.launches(function))

    def launches_beside(self, function: Fn, read: Call) -> bool:
        """Say whether a branch for the device, or for one operator, around a read does launch."""
        flow = self._summaries.flow(function)
        regions = function.facts.regions
        return any(
            regions[one].kind in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM)
            and (flow.place(flow.entering(one)) is Place.DEVICE or _names_an_operator(function, regions[one]))
            and self.launches_in(function, regions[one].start, regions[one].end)
            for one in function.ancestors(read.region)
        )

    def _is_kernel_code(self, function: Fn) -> bool:
        return self._summaries.graph.is_gpu_located(function)

    def has_path(self, function: Fn, read: Call, around: frozenset[int]) -> bool:
        """Say whether device work stands in a branch that excludes the read."""
        flow = self._summaries.flow(function)
        for call in self.launches(function):
            branches = [one for one in function.ancestors(call.region) if one not in around]
            if any(self._excludes(function, flow, branch, read) for branch in branches):
                return True
        return False

    def _excludes(self, function: Fn, flow: Flow, branch: int, read: Call) -> bool:
        region = function.facts.regions[branch]
        if region.kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM):
            return False
        if _names_an_operator(function, region):
            return False
        if region.group_start <= read.start < region.group_end:
            return True
        return region.group_end <= read.start and flow.leaves(branch)

    def launch_of(self, function: Fn, read: Read) -> Call | None:
        """Return the device work before a read that the operand comes from."""
        flow = self._summaries.flow(function)
        if self._is_kernel_code(function):
            around = frozenset(function.ancestors(read.call.region))
            beside = next((one for one in self.launches(function) if one.region in around), None)
            if beside is None and function.facts.has_spliced_name:
                # What a macro is given to launch stands in its invocations.
                reason = self._summaries.launching.get(function.index)
                beside = reason.call if reason is not None else None
            if beside is not None and beside.name not in self._summaries.profile.launch.compile_calls:
                return beside
        root = re.match(r"[&*\s]*(?:mut\s+)?(\w+)", read.operand)
        if root is None or root[1] == "self":
            return None
        word = re.compile(rf"(?<![\w.]){re.escape(root[1])}\b")
        names = self._summaries.profile.launch.compile_calls
        value = flow.value_of(root[1])
        for call in self.launches(function):
            if call.start >= read.call.start or call.name in names:
                continue
            text = function.text(call.start, call.end)
            if (
                text in value
                or word.search(function.text(call.arguments_start, call.end))
                or (call.name in self._summaries.profile.launches and word.search(text))
            ):
                return call
        return None

"""Device work inside a function: what launches, where, and what comes of it."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import Call, CallKind, Region, RegionKind
from audit.scanner.link.closures import carrier
from audit.scanner.link.flow import Flow
from audit.scanner.link.places import Place
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.link.words import ends_of

_CALLABLE = re.compile(r"\bFn(?:Mut|Once)?\s*\(([^()]*)\)")


def names_an_operator(function: Fn, region: Region) -> bool:
    """Say whether a branch is the arm of an interpreter: other arms are other operators, not other ways."""
    pattern = function.text(region.pattern_start, region.pattern_end).lstrip()
    return region.kind == RegionKind.ARM and pattern.startswith('"')


class DeviceWork:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._launches: dict[int, list[Call]] = {}
        self._sources: dict[tuple[int, int, int, str], Call | None] = {}

    def is_device_call(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device, by itself or through its callee."""
        profile = self._summaries.profile
        if (
            call.name in profile.uploads
            or call.name in profile.downloads
            or call.name in profile.launch.views
        ):
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
        known = self._launches.get(function.index)
        if known is None:
            may_launch = function.index in self._summaries.launching or self._takes_model(function)
            known = self._launches[function.index] = [
                call
                for call in (function.facts.calls if may_launch else ())
                if self.is_device_call(function, call)
            ]
        return known

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
            and (flow.place(flow.entering(one)) is Place.DEVICE or names_an_operator(function, regions[one]))
            and self.launches_in(function, regions[one].start, regions[one].end)
            for one in function.ancestors(read.region)
        )

    def _is_kernel_code(self, function: Fn) -> bool:
        return self._summaries.graph.is_gpu_located(function)

    def has_path(self, function: Fn, read: Call, around: frozenset[int]) -> bool:
        """Say whether device work stands in a branch that excludes the read."""
        return any(self._is_excluded(function, call, read, around) for call in self.launches(function))

    def _is_excluded(self, function: Fn, call: Call, read: Call, around: frozenset[int]) -> bool:
        """Say whether a call stands in a branch after which the read is not reached."""
        flow = self._summaries.flow(function)
        branches = [one for one in function.ancestors(call.region) if one not in around]
        return any(self._excludes(function, flow, branch, read) for branch in branches)

    def _excludes(self, function: Fn, flow: Flow, branch: int, read: Call) -> bool:
        region = function.facts.regions[branch]
        if region.kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM):
            return False
        if names_an_operator(function, region):
            return False
        if region.group_start <= read.start < region.group_end:
            return True
        return region.group_end <= read.start and flow.leaves(branch)

    def launch_of(self, function: Fn, read: Read) -> Call | None:
        """Return the device work before a read that the operand comes from."""
        if self._is_kernel_code(function):
            beside = self._launch_beside(function, read)
            if beside is not None and beside.name not in self._summaries.profile.launch.compile_calls:
                return beside
        return self.source_of(function, read)

    def _launch_beside(self, function: Fn, read: Read) -> Call | None:
        around = frozenset(function.ancestors(read.call.region))
        for call in self.launches(function):
            if call.region in around and (
                call.start < read.call.start or self._reaches(function, read.call.region, call.region)
            ):
                return call
        reason = self._summaries.launching.get(function.index) if function.facts.macro else None
        if reason is not None and not function.facts.start <= reason.call.start < function.facts.end:
            # What a macro is given to launch stands in its invocations.
            return reason.call
        return None

    def _reaches(self, function: Fn, inner: int, outer: int) -> bool:
        """Say whether control runs on from a region into what follows in a region around it."""
        flow = self._summaries.flow(function)
        while inner != outer:
            if flow.leaves(inner):
                return False
            inner = function.facts.regions[inner].parent
        return True

    def source_of(self, function: Fn, read: Read) -> Call | None:
        """Return the device work that yielded or filled an operand, as far as names tell."""
        key = (function.index, read.call.start, read.call.end, read.operand)
        if key not in self._sources:
            self._sources[key] = self._source_of(function, read)
        return self._sources[key]

    def _source_of(self, function: Fn, read: Read) -> Call | None:
        root = re.match(r"[&*\s]*(?:mut\s+)?(\w+)", read.operand)
        if root is None:
            return None
        carried = self._carried(function, read.call, root[1])
        if carried is not None:
            return carried
        name = "" if root[1] == "self" else root[1]
        names = self._summaries.profile.launch.compile_calls
        value = self._summaries.flow(function).source_of(root[1], read.call.region, read.call.start)
        around = frozenset(function.ancestors(read.call.region))
        for call in self.launches(function):
            text = function.text(call.start, call.end)
            if read.call.start < call.start and call.end <= read.call.end and text in read.operand:
                return call
            if call.start >= read.call.start or call.name in names:
                continue
            if self._is_excluded(function, call, read.call, around):
                continue
            if (
                text in value
                or (name and ends_of(name, function.text(call.arguments_start, call.end)))
                or (name and call.name in self._summaries.profile.launches and ends_of(name, text))
            ):
                return call
        return None

    def _carried(self, function: Fn, read: Call, name: str) -> Call | None:
        """Return the device work whose value a closure around a read is given under this name."""
        for index in function.ancestors(read.region):
            region = function.facts.regions[index]
            adapter = carrier(function, index)
            pattern = function.text(region.pattern_start, region.pattern_end)
            if adapter is not None and re.search(rf"\b{re.escape(name)}\b", pattern):
                inside = (
                    call
                    for call in self.launches(function)
                    if adapter.start <= call.start < adapter.name_start
                )
                return next(inside, None)
        return None

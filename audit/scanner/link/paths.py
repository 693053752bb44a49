"""Host paths: the ways in which device data comes to be computed on the host, one for each cause.

All rules of the cpu-path family look at the same paths from their own side; which rule gets a path is the
judge's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.admitted import is_for_no_type
from audit.scanner.link.attempts import Attempts
from audit.scanner.link.device_work import DeviceWork
from audit.scanner.link.entries import Entries, Trigger
from audit.scanner.link.flow import Test
from audit.scanner.link.pardons import is_channel
from audit.scanner.link.places import Place
from audit.scanner.link.stand_ins import StandIns
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.link.updates import Updates
from audit.scanner.link.uses import Use, Uses
from audit.scanner.profile import any_pattern

_ASKS_DTYPE = re.compile(r"\bdtype\b")
_BRANCHES = (RegionKind.ARM, RegionKind.THEN, RegionKind.ELSE)
# The same data, in another type.
_CONVERTED = re.compile(r"\.to_dtype\([^()]*\)\??$")


class HostPath(NamedTuple):
    """Reads of one function that share a cause.

    `trigger` and `test` say what sends control here: a failed attempt, a device branch or layout test that
    does not cover the case, an explicit device branch, or nothing. `launch` is the device work whose output
    is read; `has_device_path` tells that the function reaches the device on another path. `start:end` is
    where the path is reported. `is_host_update` tells that an optimizer overwrites device state from the
    host, `is_backend_default` that a device backend falls back to the host where it overrides nothing,
    `is_transport` that data is sent to another process, `launches_beside` that the branch for the device
    which reads does launch, `goes_on` that operators of the device follow.
    """

    function: Fn
    reads: tuple[Read, ...]
    trigger: Trigger
    test: Test | None
    launch: Call | None
    upload: Call | None
    use: Use
    has_device_path: bool
    start: int
    end: int

    is_host_update: bool
    is_backend_default: bool
    is_transport: bool
    launches_beside: bool
    goes_on: bool

    @property
    def is_host_body(self) -> bool:
        """Whether an operator reads its operands on the host, and nothing sends it there."""
        return (
            self.trigger is Trigger.NONE
            and self.use in (Use.COMPUTED, Use.DEMOTED)
            and self.launch is None
            and not self.has_device_path
            and not self.is_host_update
            and not self.is_transport
            and not self.launches_beside
        )

    @property
    def cause(self) -> tuple[str, int, int]:
        """What makes two paths the same."""
        return (self.function.unit.path, self.function.index, self.start)


class HostPaths:
    """Finds the host paths of a workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._uses = Uses(summaries)
        profile = summaries.profile
        self._backward_name = any_pattern(profile.autograd.function_patterns)
        self._updates = Updates(summaries)
        self._operators = frozenset(profile.launch.operators)
        self._transports = frozenset(profile.transfer.transports)
        self._work = DeviceWork(summaries)
        self._attempts = Attempts(summaries, self._work)
        self._entries = Entries(summaries, self._work, self._attempts)

    @cached_property
    def stand_ins(self) -> StandIns:
        """Host work that stands in for the device and reads nothing from it."""
        return StandIns(self._summaries, self._work, self._attempts)

    @cached_property
    def all(self) -> tuple[HostPath, ...]:
        """All host paths, in the order of the workspace's functions."""
        return self.within(self.reading)

    @cached_property
    def reading(self) -> tuple[int, ...]:
        """The functions that may have host paths, by index, in order."""
        return tuple(sorted(self._summaries.reads))

    def within(self, functions: Iterable[int]) -> tuple[HostPath, ...]:
        """Return the host paths of some functions, in their order."""
        return tuple(path for index in functions for path in self._of(index))

    def take(self, paths: Iterable[HostPath]) -> None:
        """Take all host paths, some of which another process has found in the same workspace."""
        self.all = tuple(paths)

    def _of(self, index: int) -> Iterator[HostPath]:
        function = self._summaries.workspace.functions[index]
        if self._summaries.answers_elsewhere(function):
            return
        flow, implementors = self._summaries.flow(function), self._summaries.workspace.implementors
        open_reads = [
            read
            for read in self._summaries.reads[index]
            if not read.pardon and not is_for_no_type(function, read.call, flow, implementors)
        ]
        for reads in self._grouped(function, open_reads):
            yield from self._paths(function, reads)

    def _grouped(self, function: Fn, reads: list[Read]) -> list[list[Read]]:
        """Group reads by the branch they are in; a branch inside another one that reads belongs to it.

        Unless it is a way of its own: it leaves, or it is the branch for the device.
        """
        branches: dict[int, list[Read]] = {}
        for read in reads:
            if not read.is_copy:
                branches.setdefault(self._branch(function, read.call.region), []).append(read)
        merged: dict[int, list[Read]] = {}
        for branch in sorted(branches):
            target = self._arm_before(function, branch, merged, branches[branch])
            if target == branch and not self._is_own_way(function, branch):
                around = [self._branch(function, one) for one in function.ancestors(branch)[1:]]
                target = next((one for one in around if one in merged), branch)
            # What the outer branch reads comes first: it is what always happens.
            merged.setdefault(target, []).extend(branches[branch])
        copies = [[read] for read in reads if read.is_copy]
        return copies + [
            round_trip for group in merged.values() for round_trip in self._round_trips(function, group)
        ]

    def _arm_before(
        self, function: Fn, branch: int, others: Mapping[int, list[Read]], reads: list[Read]
    ) -> int:
        """Return the first of the branches that read one and the same data in the types it may be of."""
        regions = function.facts.regions
        region = regions[branch]
        subject = function.text(region.condition_start, region.condition_end)
        if region.kind not in _BRANCHES or not _ASKS_DTYPE.search(subject):
            return branch
        operand = _CONVERTED.sub("", reads[0].operand.lstrip("&"))
        if region.kind != RegionKind.ARM and not re.search(rf"(?<![\w.]){re.escape(operand)}\b", subject):
            return branch
        group = (one for one in others if regions[one].group_start == region.group_start)
        same = (one for one in group if _CONVERTED.sub("", others[one][0].operand.lstrip("&")) == operand)
        return next(same, branch)

    def _is_own_way(self, function: Fn, branch: int) -> bool:
        flow = self._summaries.flow(function)
        region = function.facts.regions[branch]
        if region.kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM):
            return False
        is_device = flow.place(flow.entering(branch)) is Place.DEVICE
        return flow.leaves(branch) or (
            is_device and self._work.launches_in(function, region.start, region.end)
        )

    def _round_trips(self, function: Fn, reads: list[Read]) -> list[list[Read]]:
        """Split reads where data went to the device and came back in between, and reads of a length alone."""
        found = [[reads[0]]]
        for read in reads[1:]:
            trip = found[-1]
            is_back = self._uploaded(function, read) > trip[0].call.end
            if is_back or self._is_another_trip(function, trip[-1], read):
                found.append([read])
            else:
                found[-1].append(read)
        return found

    def _is_another_trip(self, function: Fn, before: Read, read: Read) -> bool:
        if read.call.start < before.call.start:
            return False
        uses = (self._uses.of_read(function, before), self._uses.of_read(function, read))
        if (uses[0] is uses[1] is Use.REWRAPPED and self._is_used_before(function, before, read)) or (
            uses[0] is Use.MEASURED
        ) != (uses[1] is Use.MEASURED):
            return True
        launch = self._work.launch_of(function, read)
        if launch is None or launch.start > read.call.start:
            return False
        return before.call.end < max(launch.start, self._bound(function, read))

    def _is_used_before(self, function: Fn, before: Read, read: Read) -> bool:
        """Say whether something is done between two reads; else they are parts of one thing."""
        return any(before.call.end <= call.start < read.call.start for call in function.facts.calls)

    def _bound(self, function: Fn, read: Read) -> int:
        """Return where the local that is read has got its value, or 0."""
        name = re.match(r"[&*\s]*(\w+)$", read.operand.strip())
        return max(
            (
                let.value_end
                for let in function.facts.lets
                if name is not None
                and let.end < read.call.start
                and function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip() == name[1]
            ),
            default=0,
        )

    def _uploaded(self, function: Fn, read: Read) -> int:
        """Return where the local that is read was uploaded last, before it got its value, or 0."""
        bound = self._bound(function, read)
        names = self._summaries.profile.uploads
        return max(
            (call.end for call in function.facts.calls if call.name in names and call.end <= bound), default=0
        )

    def _branch(self, function: Fn, region: int) -> int:
        """Return the nearest region around that control reaches only under a condition."""
        for index in function.ancestors(region):
            if function.facts.regions[index].kind not in (RegionKind.CLOSURE, RegionKind.LOOP):
                return index
        return 0

    def _paths(self, function: Fn, reads: list[Read]) -> Iterator[HostPath]:
        first = reads[0].call
        around = frozenset(function.ancestors(first.region))
        upload = self._upload_behind(function, reads)
        common = {
            "function": function,
            "reads": tuple(reads),
            "launch": self._launch_before(function, reads) if not reads[0].is_result else None,
            "upload": upload,
            "use": self._uses.of(function, reads, is_uploaded=upload is not None),
            "launches_beside": not reads[0].is_result and self._work.launches_beside(function, first),
            "is_host_update": self._updates.updates_state(function),
            "is_backend_default": function.is_trait_default
            and function.trait in self._summaries.profile.launch.backend_traits,
            "is_transport": any(
                call.kind == CallKind.METHOD
                and call.name in self._transports
                and not is_channel(function, call)
                for call in function.facts.calls
            ),
            "goes_on": self._goes_on(function, first),
            "has_device_path": self._work.has_path(function, first, around),
        }
        entries = self._ways(function, reads[0])
        for number, (trigger, test) in enumerate(entries):
            if common["use"] is Use.MOVED and not self._is_answered(function, first, trigger):
                continue
            start, end = first.start, first.end
            if number and test is not None:
                # The second way to the same read is reported at the test that opens it.
                start = test.group
                end = function.facts.regions[test.region].condition_end
            yield HostPath(trigger=trigger, test=test, start=start, end=end, **common)  # type: ignore[arg-type]

    def _launch_before(self, function: Fn, reads: list[Read]) -> Call | None:
        """Return the device work before reads of one round trip, or before the upload of what they read."""
        launches = (self._work.launch_of(function, read) for read in reads)
        found = next((launch for launch in launches if launch is not None), None)
        uploaded = max(self._uploaded(function, read) for read in reads)
        if found is not None or not uploaded:
            return found
        around = frozenset(function.ancestors(reads[0].call.region))
        before = (one for one in self._work.launches(function) if one.region in around and one.end < uploaded)
        return next(before, None)

    def _goes_on(self, function: Fn, read: Call) -> bool:
        """Say whether operators that run where their operands are follow a read: then it is no host body."""
        if not self._operators or read.name in self._summaries.profile.transfer.device_arguments:
            # What was moved as a tensor goes on with operators on the host.
            return False
        if any(call.start > read.end and call.name in self._operators for call in function.facts.calls):
            return True
        names = (
            one.name
            for one in function.facts.parameters
            if one.name != "self" and self._summaries.operands.names_device_type(one.type)
        )
        rest = function.text(read.end, function.facts.body_end)
        return any(re.search(rf"(?<![\w.]){name}\s*[-+*/]\s", rest) for name in names)

    def _is_answered(self, function: Fn, move: Call, trigger: Trigger) -> bool:
        """Say whether moving to the host is all that a failure, or the arm of a device, comes to."""
        region = function.facts.regions[move.region]
        is_arm = trigger is Trigger.DEVICE and region.kind == RegionKind.ARM
        return trigger is Trigger.FAILURE or (is_arm and (region.tail_start, region.tail_end) == move[2:4])

    def _upload_behind(self, function: Fn, reads: list[Read]) -> Call | None:
        names = self._summaries.profile.uploads
        starts = {read.call.start for read in reads}
        return next(
            (
                call
                for call in function.facts.calls
                if call.start > reads[0].call.start and call.name in names and call.start not in starts
            ),
            None,
        )

    def _ways(self, function: Fn, read: Read) -> list[tuple[Trigger, Test | None]]:
        # A copy happens wherever shared storage is handed out, and a result is computed before it is asked
        # where it goes: no test sends control there.
        return (
            [(Trigger.NONE, None)]
            if read.is_copy or read.is_result
            else self._entries.of(function, read, is_update=self._updates.is_step(function))
        )

    def is_failed_attempt(self, function: Fn, test: Test) -> bool:
        """Say whether a test holds because something on the device did not work."""
        return self._attempts.has_failed(function, test)

    def attempts(self, function: Fn, expression: str) -> bool:
        """Say whether an expression puts work on the device or prepares it."""
        return self._attempts.attempts(function, expression)

    def is_device_call(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device, by itself or through its callee."""
        return self._work.is_device_call(function, call)

    def is_backward(self, function: Fn) -> bool:
        """Say whether a function computes gradients."""
        words = self._summaries.profile.autograd
        if function.name in words.methods and function.trait in words.traits:
            return True
        is_kernel_code = self._summaries.graph.is_gpu_located(function)
        return not is_kernel_code and bool(self._backward_name.search(function.name))

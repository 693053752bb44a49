"""Host paths: the ways in which device data comes to be computed on the host, one for each cause.

All rules of the cpu-path family look at the same paths from their own side; which rule gets a path is the
judge's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.flow import Flow, Place, Test
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_FAILURE_PATTERN = re.compile(r"^(?:Err\b|None\b|\w*(?:::\w+)*::?Err\b)")
_SUCCESS_PATTERN = re.compile(r"^\(*(?:Ok|Some|true)\b")
_SWALLOWED = re.compile(r"\.(?:ok|is_ok|is_some|unwrap_or_default)\(\)")
_CALLABLE = re.compile(r"\bFn(?:Mut|Once)?\s*\(([^()]*)\)")
_WORD = r"(?<![\w.]){}\b"


class Trigger(StrEnum):
    """What sends control onto a host path."""

    FAILURE = "failure"
    LIMIT = "limit"
    DEVICE = "device"
    NONE = "none"


class Use(StrEnum):
    """What becomes of the data that was read.

    Rewrapped data goes into another tensor as it is; demoted data is an operator's own input that comes out
    as a host tensor; of measured data only the length is asked.
    """

    COMPUTED = "computed"
    REWRAPPED = "rewrapped"
    DEMOTED = "demoted"
    MEASURED = "measured"


class HostPath(NamedTuple):
    """Reads of one function that share a cause.

    `trigger` and `test` say what sends control here: a failed attempt, a device branch or layout test that
    does not cover the case, an explicit device branch, or nothing. `launch` is the device work whose output
    is read; `has_device_path` tells that the function reaches the device on another path. `start:end` is
    where the path is reported; `is_host_update` tells that device state is overwritten from the host,
    `launches_beside` that the branch for the device which reads does launch.
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
    launches_beside: bool

    @property
    def cause(self) -> tuple[str, int, int]:
        """What makes two paths the same."""
        return (self.function.unit.path, self.function.index, self.start)


class HostPaths:
    """Finds the host paths of a workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        profile = summaries.profile
        self._backward_name = any_pattern(profile.autograd.function_patterns)
        self._layout = any_pattern(profile.device.layout_patterns)

    @cached_property
    def all(self) -> tuple[HostPath, ...]:
        """All host paths, in the order of the workspace's functions."""
        return tuple(path for index in sorted(self._summaries.reads) for path in self._of(index))

    def _of(self, index: int) -> Iterator[HostPath]:
        function = self._summaries.workspace.functions[index]
        if self._summaries.answers_elsewhere(function):
            return
        open_reads = [read for read in self._summaries.reads[index] if not read.pardon]
        for reads in self._grouped(function, open_reads):
            yield from self._paths(function, reads)

    def _grouped(self, function: Fn, reads: list[Read]) -> list[list[Read]]:
        """Group reads by the branch they are in; a branch inside another one that reads belongs to it.

        Unless it is a way of its own: it leaves, or it is the branch for the device.
        """
        branches: dict[int, list[Read]] = {}
        for read in reads:
            branches.setdefault(self._branch(function, read.call.region), []).append(read)
        merged: dict[int, list[Read]] = {}
        for branch in sorted(branches):
            target = branch
            if not self._is_own_way(function, branch):
                around = [self._branch(function, one) for one in function.ancestors(branch)[1:]]
                target = next((one for one in around if one in merged), branch)
            # What the outer branch reads comes first: it is what always happens.
            merged.setdefault(target, []).extend(branches[branch])
        return [round_trip for group in merged.values() for round_trip in self._round_trips(function, group)]

    def _is_own_way(self, function: Fn, branch: int) -> bool:
        flow = self._summaries.flow(function)
        region = function.facts.regions[branch]
        if region.kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM):
            return False
        is_device = flow.place(flow.entering(branch)) is Place.DEVICE
        return flow.leaves(branch) or (is_device and self._launches_in(function, region.start, region.end))

    def _round_trips(self, function: Fn, reads: list[Read]) -> list[list[Read]]:
        """Split reads where data went to the device and came back in between, and reads of a length alone."""
        found = [[reads[0]]]
        for read in reads[1:]:
            if self._is_another_trip(function, found[-1][-1], read):
                found.append([read])
            else:
                found[-1].append(read)
        return found

    def _is_another_trip(self, function: Fn, before: Read, read: Read) -> bool:
        if read.call.start < before.call.start:
            return False
        uses = (self._use_of(function, before), self._use_of(function, read))
        if uses[0] is uses[1] is Use.REWRAPPED or (uses[0] is Use.MEASURED) != (uses[1] is Use.MEASURED):
            return True
        launch = self._launch_of(function, read)
        if launch is not None and launch.start > before.call.end:
            return True
        bound = self._bound_at(function, read)
        names = self._summaries.profile.uploads
        return any(
            before.call.end < call.start < bound and call.name in names for call in function.facts.calls
        )

    def _bound_at(self, function: Fn, read: Read) -> int:
        """Return where the local that is read gets its value, or 0."""
        name = re.match(r"[&*\s]*(\w+)$", read.operand.strip())
        if name is None:
            return 0
        return max(
            (
                let.value_start
                for let in function.facts.lets
                if let.start < read.call.start
                and function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip() == name[1]
            ),
            default=0,
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
        in_place = self._summaries.profile.transfer.in_place_uploads
        common = {
            "function": function,
            "reads": tuple(reads),
            "launch": self._launch_of(function, reads[0]),
            "upload": self._upload_behind(function, reads),
            "use": self._use(function, reads),
            "launches_beside": self._launches_beside(function, first),
            "is_host_update": any(call.name in in_place for call in function.facts.calls),
            "has_device_path": self._has_device_path(function, first, around),
        }
        entries = self._entries(function, first)
        for number, (trigger, test) in enumerate(entries):
            start, end = first.start, first.end
            if number and test is not None:
                # The second way to the same read is reported at the test that opens it.
                start = test.group
                end = function.facts.regions[test.region].condition_end
            yield HostPath(trigger=trigger, test=test, start=start, end=end, **common)  # type: ignore[arg-type]

    # -- what sends control here -------------------------------------------------------------------------

    def _entries(self, function: Fn, read: Call) -> list[tuple[Trigger, Test | None]]:
        """Return the ways to a read, most telling first."""
        flow = self._summaries.flow(function)
        tests = flow.tests_at(read.start, read.region)
        enclosing = next(
            (one for one in tests if one.encloses and self.is_failed_attempt(function, one)), None
        )
        if enclosing is not None:
            return [(Trigger.FAILURE, enclosing)]
        around = frozenset(function.ancestors(read.region))
        failure = self._last_failure(function, flow, read, around)
        limit = self._limit(function, flow, read, tests, failure)
        found: list[tuple[Trigger, Test | None]] = []
        if failure is not None:
            found.append((Trigger.FAILURE, failure))
        if limit is not None:
            found.append((Trigger.LIMIT, limit))
        if not found:
            device = next((one for one in tests if one.encloses and flow.place(one) is Place.DEVICE), None)
            found.append((Trigger.NONE, None) if device is None else (Trigger.DEVICE, device))
        return found

    def _last_failure(self, function: Fn, flow: Flow, read: Call, around: frozenset[int]) -> Test | None:
        """Return the last attempt before a read whose success leaves, so that its failure leads here."""
        found = None
        for index, region in enumerate(function.facts.regions):
            if region.group_end > read.start or region.kind not in (RegionKind.THEN, RegionKind.ARM):
                continue
            if not flow.leaves(index):
                continue
            test = flow.entering(index)
            missed = test._replace(holds=not test.holds)
            if self._asks_for_backend(test) or self._is_layout_limit(flow, test):
                continue
            if self.is_failed_attempt(function, missed) or self._ends_device_branch(
                function, flow, region.parent, around
            ):
                found = missed
        return found

    def _ends_device_branch(self, function: Fn, flow: Flow, parent: int, around: frozenset[int]) -> bool:
        """Say whether a branch for the device runs on to the read when what it holds does not leave."""
        regions = function.facts.regions
        if flow.leaves(parent):
            return False
        while regions[parent].kind == RegionKind.THEN and self._asks_for_backend(flow.entering(parent)):
            parent = regions[parent].parent
        if parent in around or regions[parent].kind != RegionKind.THEN:
            return False
        if not self._launches_in(function, regions[parent].start, regions[parent].end):
            return False
        return flow.place(flow.entering(parent)) is Place.DEVICE

    def _asks_for_backend(self, test: Test) -> bool:
        """Say whether a test only asks for the backend: device data without one can't be."""
        accessors = self._summaries.profile.launch.backend_accessors
        return any(f"{accessor}(" in test.subject for accessor in accessors)

    def is_failed_attempt(self, function: Fn, test: Test) -> bool:
        """Say whether a test holds because something on the device did not work."""
        subject, pattern, holds = _read_test(test)
        if not pattern:
            if not _SWALLOWED.search(subject) or holds:
                return False
        elif _FAILURE_PATTERN.match(pattern.strip()):
            if not holds:
                return False
        elif not _SUCCESS_PATTERN.match(pattern.strip()) or holds:
            return False
        return self.attempts(function, subject)

    def attempts(self, function: Fn, expression: str, depth: int = 3) -> bool:
        """Say whether an expression puts work on the device or prepares it: launch, compile, backend call."""
        flow = self._summaries.flow(function)
        bare = expression.strip().lstrip("&").removeprefix("mut ").strip()
        if bare.isidentifier() and depth:
            value = flow.value_of(bare)
            return bool(value) and self.attempts(function, value, depth - 1)
        text = expression.encode()
        start = function.unit.data.find(text, function.facts.body_start, function.facts.body_end)
        if start < 0:
            return False
        names = self._summaries.profile.launch.compile_calls
        return any(
            call.name in names or self.is_device_call(function, call)
            for call in function.facts.calls
            if start <= call.start < start + len(text)
        )

    def _limit(
        self, function: Fn, flow: Flow, read: Call, tests: list[Test], failure: Test | None
    ) -> Test | None:
        """Return the device or layout test that does not cover the case which is read here."""
        for test in tests:
            if self._is_device_limit(flow, test):
                return test
            if self._is_layout_limit(flow, test) and not self._refuses(function, test):
                return test
        around = frozenset(function.ancestors(read.region))
        for index, region in enumerate(function.facts.regions):
            if region.kind == RegionKind.THEN and region.group_end <= read.start:
                test = flow.entering(index)._replace(holds=False)
                if (
                    flow.leaves(index)
                    and self._is_layout_limit(flow, test)
                    and self._ends_device_branch(function, flow, region.parent, around)
                ):
                    return test
                if self._is_device_limit(flow, test) and self._launches_in(
                    function, region.start, region.end
                ):
                    return test
        return None if failure is None else self._condition_of_attempt(function, flow, read, failure)

    def _condition_of_attempt(self, function: Fn, flow: Flow, read: Call, failure: Test) -> Test | None:
        """Return the condition under which alone the device is tried."""
        around = frozenset(function.ancestors(read.region))
        outer = function.facts.regions[failure.region].parent
        if outer in around or function.facts.regions[outer].kind != RegionKind.THEN:
            return None
        test = flow.entering(outer)._replace(holds=False)
        return None if flow.place(test) is Place.HOST else test

    def _refuses(self, function: Fn, test: Test) -> bool:
        """Say whether the branch that was left behind returns an error: then the test only validates."""
        return not test.encloses and any(
            call.region == test.region and call.name == "Err" for call in function.facts.calls
        )

    def _is_device_limit(self, flow: Flow, test: Test) -> bool:
        """Say whether a test is a device test with further conditions, which failed."""
        if test.pattern or test.holds:
            return False
        return flow.condition_place(test.subject, True) is Place.DEVICE and flow.place(test) is None

    def _is_layout_limit(self, flow: Flow, test: Test) -> bool:
        """Say whether a test asks for layout, rank or dtype, and leads here by its outcome alone."""
        if test.pattern or test.subject.startswith("let "):
            return False
        condition = flow.expand(test.subject)
        return bool(self._layout.search(condition)) and not self._summaries.tests.mentions_device(condition)

    # -- device work around ------------------------------------------------------------------------------

    def is_device_call(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device, by itself or through its callee."""
        profile = self._summaries.profile
        if call.kind == CallKind.MACRO or call.name in profile.uploads or call.name in profile.downloads:
            return False
        if self._summaries.is_launch(function, call) or self._calls_given_model(function, call):
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

    def _launches_in(self, function: Fn, start: int, end: int) -> bool:
        return any(start <= call.start < end for call in self.launches(function))

    def _launches_beside(self, function: Fn, read: Call) -> bool:
        """Say whether a branch for the device around a read does launch."""
        flow = self._summaries.flow(function)
        regions = function.facts.regions
        return any(
            regions[one].kind in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM)
            and flow.place(flow.entering(one)) is Place.DEVICE
            and self._launches_in(function, regions[one].start, regions[one].end)
            for one in function.ancestors(read.region)
        )

    def _has_device_path(self, function: Fn, read: Call, around: frozenset[int]) -> bool:
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
        if region.group_start <= read.start < region.group_end:
            return True
        return region.group_end <= read.start and flow.leaves(branch)

    def _launch_of(self, function: Fn, read: Read) -> Call | None:
        """Return the device work before a read that the operand comes from."""
        flow = self._summaries.flow(function)
        root = re.match(r"[&*\s]*(?:mut\s+)?(\w+)", read.operand)
        if root is None or root[1] == "self":
            return None
        word = re.compile(_WORD.format(re.escape(root[1])))
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

    # -- what becomes of the data ------------------------------------------------------------------------

    def _use(self, function: Fn, reads: list[Read]) -> Use:
        uses = {self._use_of(function, read) for read in reads}
        use = uses.pop() if len(uses) == 1 else Use.COMPUTED
        if use is Use.REWRAPPED and self._upload_behind(function, reads) is None:
            roots = {re.split(r"\W", read.operand.lstrip("&*("), maxsplit=1)[0] for read in reads}
            if roots <= {parameter.name for parameter in function.facts.parameters}:
                return Use.DEMOTED
        return use

    def _use_of(self, function: Fn, read: Read) -> Use:
        if read.helper is not None:
            return Use.COMPUTED
        name = next(
            (
                function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
                for let in function.facts.lets
                if let.value_start <= read.call.start < let.value_end
                and function.text(read.call.end, let.value_end).strip(" ?\n") == ""
            ),
            "",
        )
        if not name.isidentifier():
            return self._direct_use(function, read)
        body = function.text(read.call.end, function.facts.body_end)
        uses = [body[found.end() : found.end() + 8] for found in re.finditer(_WORD.format(name), body)]
        if uses and all(following.startswith(".len()") for following in uses):
            return Use.MEASURED
        borrowed = re.search(rf"&(?:mut\s+)?{name}\b", body)
        if uses and borrowed is None and all(re.match(r"\s*[,)]|\.len\(\)", following) for following in uses):
            return Use.REWRAPPED
        return Use.COMPUTED

    def _direct_use(self, function: Fn, read: Read) -> Use:
        """Judge data that no local is bound to: an argument of a constructor is wrapped, nothing else is."""
        following = function.text(read.call.end, read.call.end + 12).lstrip("? \n")
        if following.startswith(".len()"):
            return Use.MEASURED
        if not following.startswith((",", ")")):
            return Use.COMPUTED
        wrapping = self._summaries.profile.uploads | frozenset(
            self._summaries.profile.transfer.host_constructors
        )
        outer = [
            call
            for call in function.facts.calls
            if call.arguments_start < read.call.start and read.call.end < call.end
        ]
        return Use.REWRAPPED if outer and outer[-1].name in wrapping else Use.COMPUTED

    def is_backward(self, function: Fn) -> bool:
        """Say whether a function computes gradients."""
        words = self._summaries.profile.autograd
        if function.name in words.methods and function.trait in words.traits:
            return True
        package = function.unit.package
        is_kernel_code = package is not None and self._summaries.profile.is_gpu_crate(package.name)
        return not is_kernel_code and bool(self._backward_name.search(function.name))


def _read_test(test: Test) -> tuple[str, str, bool]:
    subject, pattern, holds = test.subject.strip(), test.pattern, test.holds
    if not pattern and subject.startswith("let "):
        pattern, _, subject = subject[4:].partition("=")
    if not pattern and subject.startswith("!"):
        subject, holds = subject[1:], not holds
    return subject.strip(), pattern, holds

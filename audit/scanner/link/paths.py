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
_SUCCESS_PATTERN = re.compile(r"^(?:Ok|Some|true)\b")
_SWALLOWED = re.compile(r"\.(?:ok|is_ok|is_some|unwrap_or_default)\(\)")


class Trigger(StrEnum):
    """What sends control onto a host path."""

    FAILURE = "failure"
    LIMIT = "limit"
    DEVICE = "device"
    NONE = "none"


class HostPath(NamedTuple):
    """Reads of one function that share a cause.

    `trigger` and `test` say what sends control here: a failed attempt, a device branch that does not cover
    the case, an explicit device branch, or nothing. `launch` is a launch that has run before on the same
    path; `launches_elsewhere` tells that the function reaches the device on another path.
    """

    function: Fn
    reads: tuple[Read, ...]
    region: int
    trigger: Trigger
    test: Test | None
    launch: Call | None
    upload: Call | None
    launches_elsewhere: bool

    @property
    def start(self) -> int:
        """Where the path is reported: its first read."""
        return self.reads[0].call.start

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

    @cached_property
    def all(self) -> tuple[HostPath, ...]:
        """All host paths, in the order of the workspace's functions."""
        return tuple(path for index in sorted(self._summaries.reads) for path in self._of(index))

    def _of(self, index: int) -> Iterator[HostPath]:
        function = self._summaries.workspace.functions[index]
        if self._summaries.is_host_helper(function):
            return
        open_reads = [read for read in self._summaries.reads[index] if not read.pardon]
        for region, reads in self._grouped(function, open_reads):
            yield self._path(function, region, reads)

    def _grouped(self, function: Fn, reads: list[Read]) -> list[tuple[int, list[Read]]]:
        """Group reads by the branch they are in; a branch inside another one that reads belongs to it."""
        branches: dict[int, list[Read]] = {}
        for read in reads:
            branches.setdefault(self._branch(function, read.call.region), []).append(read)
        merged: dict[int, list[Read]] = {}
        for branch in sorted(branches):
            outer = next(
                (one for one in function.ancestors(branch)[1:] if self._branch(function, one) in merged), None
            )
            target = branch if outer is None else self._branch(function, outer)
            merged.setdefault(target, []).extend(branches[branch])
        return [(branch, sorted(group, key=lambda read: read.call.start)) for branch, group in merged.items()]

    def _branch(self, function: Fn, region: int) -> int:
        """Return the nearest region around that control reaches only under a condition."""
        for index in function.ancestors(region):
            if function.facts.regions[index].kind not in (RegionKind.CLOSURE, RegionKind.LOOP):
                return index
        return 0

    def _path(self, function: Fn, region: int, reads: list[Read]) -> HostPath:
        flow = self._summaries.flow(function)
        first = reads[0].call
        tests = flow.tests_at(first.start, first.region)
        trigger, test = self._trigger(function, flow, tests)
        around = frozenset(function.ancestors(first.region))
        launch = self._launch_before(function, first, around)
        last = reads[-1].call
        upload = next(
            (
                call
                for call in function.facts.calls
                if call.start > first.start
                and call.name in self._summaries.profile.uploads
                and call.start != last.start
            ),
            None,
        )
        elsewhere = any(
            call.region not in around or call.start > last.end for call in self.launches(function)
        )
        return HostPath(function, tuple(reads), region, trigger, test, launch, upload, elsewhere)

    def _trigger(self, function: Fn, flow: Flow, tests: list[Test]) -> tuple[Trigger, Test | None]:
        limit: Test | None = None
        device: Test | None = None
        for test in tests:
            if self.is_failed_attempt(function, flow, test):
                return Trigger.FAILURE, test
            if limit is None and self._is_limit(flow, test):
                limit = test
            if device is None and test.encloses and flow.place(test) is Place.DEVICE:
                device = test
        if limit is not None:
            return Trigger.LIMIT, limit
        if device is not None:
            return Trigger.DEVICE, device
        return Trigger.NONE, None

    def is_failed_attempt(self, function: Fn, flow: Flow, test: Test) -> bool:
        """Say whether a test holds because something on the device did not work."""
        subject, pattern, holds = self._read_test(flow, test)
        if not pattern:
            if not _SWALLOWED.search(subject) or holds:
                return False
        elif _FAILURE_PATTERN.match(pattern.strip()):
            if not holds:
                return False
        elif not _SUCCESS_PATTERN.match(pattern.strip()) or holds:
            return False
        return self.attempts(function, subject)

    def _read_test(self, flow: Flow, test: Test) -> tuple[str, str, bool]:
        subject, pattern, holds = test.subject.strip(), test.pattern, test.holds
        if not pattern and subject.startswith("let "):
            pattern, _, subject = subject[4:].partition("=")
        if not pattern and subject.startswith("!"):
            subject, holds = subject[1:], not holds
        return subject.strip(), pattern, holds

    def attempts(self, function: Fn, expression: str, depth: int = 3) -> bool:
        """Say whether an expression puts work on the device or prepares it: launch, compile, backend call."""
        flow = self._summaries.flow(function)
        bare = expression.strip().lstrip("&").removeprefix("mut ").strip()
        if bare.isidentifier() and depth:
            value = flow.value_of(bare)
            return bool(value) and self.attempts(function, value, depth - 1)
        start = function.unit.data.find(
            expression.encode(), function.facts.body_start, function.facts.body_end
        )
        if start < 0:
            return False
        end = start + len(expression.encode())
        names = self._summaries.profile.launch.compile_calls
        return any(
            call.name in names or self.is_device_call(function, call)
            for call in function.facts.calls
            if start <= call.start < end
        )

    def _is_limit(self, flow: Flow, test: Test) -> bool:
        """Say whether a test is a device test with further conditions, which failed."""
        if test.pattern or test.holds:
            return False
        condition = flow.expand(test.subject)
        mentions = self._summaries.tests.mentions_device(condition)
        return (
            mentions and flow.condition_place(test.subject, True) is Place.DEVICE and flow.place(test) is None
        )

    def is_device_call(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device, by itself or through its callee."""
        if self._summaries.is_launch(function, call):
            return True
        return any(
            callee.index in self._summaries.launching
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def launches(self, function: Fn) -> list[Call]:
        """Return the calls of a function that put work on the device."""
        if function.index not in self._summaries.launching:
            return []
        return [
            call
            for call in function.facts.calls
            if call.kind != CallKind.MACRO and self.is_device_call(function, call)
        ]

    def _launch_before(self, function: Fn, read: Call, around: frozenset[int]) -> Call | None:
        names = self._summaries.profile.launch.compile_calls
        found = None
        for call in self.launches(function):
            if call.start < read.start and call.region in around and call.name not in names:
                found = call
        return found

    def is_backward(self, function: Fn) -> bool:
        """Say whether a function computes gradients."""
        words = self._summaries.profile.autograd
        return (function.name in words.methods and function.trait in words.traits) or bool(
            self._backward_name.search(function.name)
        )

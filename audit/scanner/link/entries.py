"""The ways to a host read: what sends control there."""

from __future__ import annotations

from enum import StrEnum

from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.link.attempts import Attempts, is_outcome
from audit.scanner.link.device_work import DeviceWork, names_an_operator
from audit.scanner.link.flow import Flow, Test
from audit.scanner.link.places import Place
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern


class Trigger(StrEnum):
    """What sends control onto a host path."""

    FAILURE = "failure"
    LIMIT = "limit"
    DEVICE = "device"
    NONE = "none"


class Entries:
    """Finds the ways for one workspace."""

    def __init__(self, summaries: Summaries, work: DeviceWork, attempts: Attempts) -> None:
        self._summaries = summaries
        self._work = work
        self._attempts = attempts
        self._layout = any_pattern(summaries.profile.device.layout_patterns)

    def of(self, function: Fn, found_read: Read, *, is_update: bool) -> list[tuple[Trigger, Test | None]]:
        """Return the ways to a read, most telling first. `is_update` tells an optimizer's step."""
        read = found_read.call
        flow = self._summaries.flow(function)
        tests = flow.tests_at(read.start, read.region)
        enclosing = next(
            (one for one in tests if one.encloses and self._attempts.has_failed(function, one)), None
        )
        if enclosing is None:
            enclosing = self._attempts.failed_around(function, read.region)
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
        if found:
            return found
        for test in tests:
            if test.encloses and self._is_for_device(flow, test):
                return [(Trigger.DEVICE, test)]
            # What a launch yielded was on the device; and how a step is made is a mode, no case.
            if (
                not is_update
                and self._splits_cases(function, flow, read, test)
                and self._work.source_of(function, found_read) is None
            ):
                return [(Trigger.LIMIT, test)]
        return [(Trigger.NONE, None)]

    def _is_for_device(self, flow: Flow, test: Test) -> bool:
        """Say whether a branch is the device's, alone or together with the host."""
        if flow.place(test) is Place.DEVICE:
            return True
        return test.holds and bool(test.pattern) and self._summaries.tests.mixes(test.subject, test.pattern)

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
            if (
                self._asks_for_backend(test)
                or self._is_layout_limit(flow, test)
                or self._refuses(function, missed._replace(encloses=False))
            ):
                continue
            if self._attempts.has_failed(function, missed) or self._ends_device_branch(
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
        if not self._work.launches_in(function, regions[parent].start, regions[parent].end):
            return False
        return flow.place(flow.entering(parent)) is Place.DEVICE

    def _asks_for_backend(self, test: Test) -> bool:
        """Say whether a test only asks for the backend: device data without one can't be."""
        accessors = self._summaries.profile.launch.backend_accessors
        return any(f"{accessor}(" in test.subject for accessor in accessors)

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
                if self._is_device_limit(flow, test) and self._work.launches_in(
                    function, region.start, region.end
                ):
                    return test
        return None if failure is None else self._condition_of_attempt(function, flow, read, failure)

    def _splits_cases(self, function: Fn, flow: Flow, read: Call, test: Test) -> bool:
        """Say whether a plain condition (a size, a rank, a mode) has the device on its other side."""
        regions = function.facts.regions
        region = regions[test.region]
        if not self._is_plain(function, flow, test, region.kind) or names_an_operator(function, region):
            return False
        if not test.encloses:
            return region.kind == RegionKind.THEN and self._work.launches_in(
                function, region.start, region.end
            )
        if any(
            other.group_start == region.group_start
            and other is not region
            and self._work.launches_in(function, other.start, other.end)
            for other in regions
        ):
            return True
        parent = regions[region.parent]
        return flow.leaves(test.region) and self._work.launches_in(function, region.group_end, parent.end)

    def _is_plain(self, function: Fn, flow: Flow, test: Test, kind: str) -> bool:
        """Say whether a test asks neither for the device nor whether something worked or is allowed."""
        if kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM) or "let " in test.subject:
            return False
        condition = flow.expand(test.subject)
        asks = self._summaries.tests.mentions_device(condition + " " + test.pattern)
        gated = flow.told(test.subject, test.holds, self._summaries.opens, _never) is not None
        if asks or gated or self._asks_for_backend(test) or self._attempts.attempts(function, test.subject):
            return False
        return kind != RegionKind.ARM or (test.holds and not is_outcome(test.pattern))

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
            call.region == test.region and self._summaries.graph.is_error(call)
            for call in function.facts.calls
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


def _never(subject: str, pattern: str, holds: bool) -> bool | None:
    return None

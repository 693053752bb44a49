"""Host work that stands in for the device and reads nothing from it: its input was on the host anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, ExitKind, Region, RegionKind
from audit.scanner.link.attempts import Attempts, read_test, says_failure
from audit.scanner.link.closures import receiver_of
from audit.scanner.link.device_work import DeviceWork
from audit.scanner.link.flow import Flow, Test
from audit.scanner.link.places import Place
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern

_BRANCHES = (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM, RegionKind.LET_ELSE, RegionKind.CLOSURE)
_COMPUTES = re.compile(
    r"\.(?:iter|into_iter|chunks|par_iter)\([^)]*\).*\.(?:map|fold|sum|zip|for_each)\b", re.DOTALL
)
# A loop over layers works where their inputs are.
_RUNS_LAYERS = re.compile(r"\.forward\(")
_BY_EXECUTOR = "host-executor-on-failure"
_BY_DEFAULT = "host-device-by-default"
# An arm for a failure that is taken only where the user agreed to it.
_CONSENT = re.compile(r"\sif\s.*(?:fallback|allow|cpu|host|opt_?in)", re.DOTALL)
_PATH = re.compile(r"^(?:\w+::)*[a-z_]\w*$")
_ANSWER = re.compile(r"^(?:return\s+)?(?:Ok\()?\s*(?:\w+\()?")


class StandIn(NamedTuple):
    """A place where the host answers for the device: its span, the form, and the test that leads there."""

    function: Fn
    start: int
    end: int
    form: str
    subject: str


class StandIns:
    """Finds them in one workspace."""

    def __init__(self, summaries: Summaries, work: DeviceWork, attempts: Attempts) -> None:
        self._summaries = summaries
        self._work = work
        self._attempts = attempts
        gpu = summaries.profile.gpu
        self._executor = any_pattern(gpu.host_executor_patterns)
        self._target = any_pattern(gpu.target_patterns)
        self._emitter = any_pattern(gpu.emitter_patterns)
        self._host_name = any_pattern(summaries.profile.transfer.host_name_patterns)
        names = "|".join(map(re.escape, summaries.profile.tests.constructors)).encode()
        self._asking = any_pattern((*gpu.function_patterns, *summaries.profile.tests.probe_patterns))
        self._features = frozenset(gpu.features)
        self._constructor = re.compile(rb"\b(?:" + names + rb")\b" if names else rb"(?!)")

    def on_failure(self, function: Fn) -> Iterator[StandIn]:
        """Yield the branches that compute on the host, or choose it, because the device did not work."""
        facts = function.facts
        if function.index not in self._summaries.launching and not (
            self._summaries.graph.constructors.within(function.unit, facts.body_start, facts.body_end)
            and self._constructor.search(function.unit.data, facts.body_start, facts.body_end)
        ):
            return
        flow = self._summaries.flow(function)
        for index in flow.kept_once(StandIns, lambda: _branches_of_failures(function, flow)):
            region = facts.regions[index]
            test = self._failure(function, index)
            start, end = self._answer(function, index) if test is not None else (0, 0)
            form = self._form(function.text(start, end)) if end else ""
            if (
                test is not None
                and form
                and not _CONSENT.search(test.pattern)
                and not self._works_or_refuses(function, region, form)
            ):
                yield StandIn(function, start, end, form, test.subject)
        for call in facts.calls:
            if call.kind == CallKind.METHOD and call.name == "unwrap_or":
                receiver = receiver_of(function, call)
                argument = function.text(call.arguments_start + 1, call.end - 1)
                if self._summaries.tests.names_host(argument) and self._attempts.attempts(function, receiver):
                    yield StandIn(function, call.name_start, call.end, _BY_DEFAULT, receiver)

    def dropped_errors(self, function: Fn) -> Iterator[StandIn]:
        """Yield the first error of the backend that `.ok()` drops in a branch, where a host path follows."""
        reads = self._summaries.reads.get(function.index, ())
        if function.index not in self._summaries.launching or all(read.pardon for read in reads):
            return
        seen: set[int] = set()
        for call in function.facts.calls:
            if call.kind != CallKind.METHOD or call.name != "ok" or call.is_tried or call.region in seen:
                continue
            dropped = (
                one
                for one in function.facts.calls
                if call.start <= one.start and one.end <= call.name_start and one.kind == CallKind.METHOD
            )
            if any(self._summaries.asks_backend(function, one) for one in dropped):
                seen.add(call.region)
                yield StandIn(function, call.start, call.end, "error-dropped", receiver_of(function, call))

    def _failure(self, function: Fn, index: int) -> Test | None:
        region = function.facts.regions[index]
        if region.kind == RegionKind.CLOSURE:
            test = self._attempts.failed_around(function, index)
            return test if test is not None and test.region == index else None
        return next(
            (
                one
                for one in self._summaries.flow(function).tests_into(index)
                if self._attempts.has_failed(function, one)
                or (self._could_not_ask(function, one) and self._opens_beside(function, index))
            ),
            None,
        )

    def _could_not_ask(self, function: Fn, test: Test) -> bool:
        """Say whether a test holds because of an error of a call that asks about a device.

        Nothing that is absent is an error, and no word of the user's that can't be read is one of the device.
        """
        _, pattern, holds = read_test(test)
        is_error = pattern.strip().startswith("Err") if test.pattern else pattern.strip().startswith("Ok")
        if not is_error or holds != bool(test.pattern):
            return False
        region = function.facts.regions[test.region]
        start, end = region.condition_start, region.condition_end
        return any(
            self._asks_device(function, call)
            for call in function.facts.calls
            if start <= call.start and call.end <= end
        )

    def _asks_device(self, function: Fn, call: Call) -> bool:
        if self._asking.search(call.name):
            return True
        return any(
            any(cfg.requires("feature", self._features) for cfg in callee.cfgs)
            or self._summaries.graph.is_gpu_located(callee)
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def _opens_beside(self, function: Fn, index: int) -> bool:
        """Say whether a branch is the host's device, and one beside it opens that which was asked for."""
        regions = function.facts.regions
        start, end = self._answer(function, index)
        if not end or self._form(function.text(start, end)) != _BY_DEFAULT:
            return False
        return any(
            other.group_start == regions[index].group_start
            and other.kind in _BRANCHES
            and number != index
            and self._attempts.opens_in(function, other.start, other.end)
            for number, other in enumerate(regions)
        )

    def _works_or_refuses(self, function: Fn, region: Region, form: str) -> bool:
        """Say whether a branch returns an error, works on the device, or is a host path already."""
        works = form != _BY_EXECUTOR
        reads = {read.call.start for read in self._summaries.reads.get(function.index, ()) if not read.pardon}
        return any(
            region.start <= call.start < region.end
            and (
                self._summaries.graph.is_error(call)
                or call.name == "panic"
                or call.start in reads
                or (works and self._work.is_device_call(function, call))
            )
            for call in function.facts.calls
        )

    def _answer(self, function: Fn, index: int) -> tuple[int, int]:
        """Return the span of a branch's value: its tail, or what it returns."""
        region = function.facts.regions[index]
        if region.tail_end:
            return region.tail_start, region.tail_end
        returned = (
            one for one in function.facts.exits if one.region == index and one.kind == ExitKind.RETURN
        )
        last = next(returned, None)
        return (last.start, last.end) if last is not None else (0, 0)

    def _form(self, text: str) -> str:
        answer = _ANSWER.sub("", text)
        if self._summaries.tests.names_host(text) and "(" not in answer:
            return _BY_DEFAULT
        called = re.match(r"^(?:return\s+)?(?:Ok\()?\(?([\w:]+)", text)
        is_upload = called is not None and called[1].rpartition("::")[2] in self._summaries.profile.uploads
        if is_upload or (_COMPUTES.search(text) and not _RUNS_LAYERS.search(text)):
            return "host-body-on-failure"
        if self._executor.search(text) or (called and self._host_name.search(called[1].rpartition("::")[2])):
            return _BY_EXECUTOR
        return ""

    @cached_property
    def for_all_targets(self) -> tuple[StandIn, ...]:
        """What `for_targets` finds in product code, in the order of the tree."""
        key = ("for_targets", self._target.pattern, self._executor.pattern)
        return tuple(
            found
            for unit in self._summaries.workspace.units.values()
            for function in unit.told_once(key, self._handing)
            if not self._summaries.is_device_off(function)
            for found in self.for_targets(function)
        )

    def _handing(self, unit: Unit) -> list[Fn]:
        """Return the functions of a file whose own text lets `for_targets` find something."""
        return [
            one
            for one in unit.functions or ()
            if one.has_body and one.is_product_code and self._may_hand_over(one)
        ]

    def _may_hand_over(self, function: Fn) -> bool:
        body, *rest = function.facts.regions
        if body.tail_end and self._runs_on_host(function, body.tail_start, body.tail_end):
            return True
        return any(
            region.kind == RegionKind.ARM
            and region.tail_end
            and (
                _may_be_path(function.unit.data[region.tail_start : region.tail_end])
                or self._target.search(function.text(region.pattern_start, region.pattern_end))
            )
            for region in rest
        )

    def for_targets(self, function: Fn) -> Iterator[StandIn]:
        """Yield the branches for a device, or a target of a compiler, that hand over to the host."""
        flow = self._summaries.flow(function)
        for index, region in enumerate(function.facts.regions):
            if region.kind != RegionKind.ARM or not region.tail_end:
                continue
            pattern = function.text(region.pattern_start, region.pattern_end)
            tail = function.text(region.tail_start, region.tail_end)
            is_target = self._target.search(pattern) is not None
            if is_target and self._runs_on_host(function, region.tail_start, region.tail_end):
                yield StandIn(function, region.pattern_start, region.end, "target-to-host-executor", pattern)
            elif (
                _PATH.match(tail)
                and flow.place(flow.entering(index)) is Place.DEVICE
                and self._reads_openly(function, tail)
            ):
                yield StandIn(function, region.pattern_start, region.end, "device-to-host-function", pattern)
        yield from self._dropped_source(function)

    def _runs_on_host(self, function: Fn, start: int, end: int) -> bool:
        return self._executor.match(function.text(start, end)) is not None

    def _reads_openly(self, function: Fn, path: str) -> bool:
        callees = self._summaries.resolver.at_path(function.unit, tuple(path.split("::")))
        reads = self._summaries.reads
        return any(any(not read.pardon for read in reads.get(one.index, ())) for one in callees)

    def _dropped_source(self, function: Fn) -> Iterator[StandIn]:
        """Yield the executor of the host that a function returns after it generated source for nobody."""
        body = function.facts.regions[0]
        if not body.tail_end or not self._runs_on_host(function, body.tail_start, body.tail_end):
            return
        for let in function.facts.lets:
            if let.region == 0 and function.text(let.pattern_start, let.pattern_end).startswith("_"):
                inside = [one for one in function.facts.calls if let.value_start <= one.start < let.value_end]
                if any(self._generates(function, one) for one in inside):
                    yield StandIn(
                        function, body.tail_start, body.tail_end, "source-dropped-for-host-executor", ""
                    )
                    return

    def _generates(self, function: Fn, call: Call) -> bool:
        """Say whether a call generates the source of kernels, by itself or in what it calls."""
        if self._emitter.search(call.name):
            return True
        callees = self._summaries.resolver.resolve(function, call)
        return any(self._emitter.search(one.name) for callee in callees for one in callee.facts.calls)


def _may_be_path(text: bytes) -> bool:
    return text.replace(b"::", b"").replace(b"_", b"").isalnum() or not text.isascii()


def _branches_of_failures(function: Fn, flow: Flow) -> tuple[int, ...]:
    """Return the branches, and closures, that are for a failure by what their tests say."""
    return tuple(
        index
        for index, region in enumerate(function.facts.regions)
        if region.kind in _BRANCHES
        and (region.kind == RegionKind.CLOSURE or any(map(says_failure, flow.tests_into(index))))
    )

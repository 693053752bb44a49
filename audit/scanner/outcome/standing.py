"""What a function does now with device data: launch, decompose, refuse, ask for the opt-in, transfer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.judge import Judgement
from audit.scanner.link.entries import Trigger
from audit.scanner.link.paths import HostPath
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn
from audit.scanner.outcome.gating import Gating

_CONVERSIONS = frozenset({"map_err", "ok_or", "ok_or_else"})
# What a function may read for by its name, or by what it answers with.
_LEGAL = frozenset({"transfer-api", "explicit-host-return", "host-record", "export"})
_CALLABLE = re.compile(r"\bFn(?:Mut|Once)?\s*\(")


class Work(NamedTuple):
    """Device work of a function. A composite is made of operators that find the device by themselves."""

    function: Fn
    call: Call
    is_composite: bool


class Refusal(NamedTuple):
    """Where a function answers device data, or a failed attempt, with an error that says what failed."""

    function: Fn
    call: Call


class Standing:
    """Answers for one judged workspace."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement
        self._summaries = judgement.summaries
        self.gating = Gating(judgement.summaries)
        errors = judgement.profile.errors
        self._structured = re.compile(r"\b(?:" + "|".join(map(re.escape, errors.structured)) + r")\b")
        self._stringly = re.compile(r"\b(?:" + "|".join(map(re.escape, errors.stringly)) + r")\b")
        self._refusing = frozenset(judgement.profile.transfer.refusing_accessors)

    @cached_property
    def _paths(self) -> dict[int, list[HostPath]]:
        found: dict[int, list[HostPath]] = defaultdict(list)
        for path in self._judgement.paths.all:
            found[path.function.index].append(path)
        return found

    def open_paths(self, function: Fn) -> list[HostPath]:
        """Return the ways on which a function still computes on the host by default."""
        return self._paths.get(function.index, [])

    def fails_onto_host(self, function: Fn) -> bool:
        """Say whether a failed attempt on the device still leads to the host by default."""
        return any(path.trigger is Trigger.FAILURE for path in self.open_paths(function))

    # -- device work -------------------------------------------------------------------------------------

    def work(self, function: Fn) -> Work | None:
        """Return device work that needs no opt-in, kernels before composites."""
        found = [Work(function, call, self._is_composite(function, call)) for call in self._work(function)]
        reason = self._summaries.launching.get(function.index)
        if reason is not None and function.facts.macro and not self._work_calls(function):
            # What a macro is given to launch stands in its invocations.
            found = [Work(function, reason.call, False)]
        return min(found, key=lambda one: (one.is_composite, one.call.start), default=None)

    def _work(self, function: Fn) -> list[Call]:
        return [
            call
            for call in self._work_calls(function)
            if not self.gating.is_behind(function, call)
            and self._summaries.place_at(function, call) is not Place.HOST
        ]

    def _work_calls(self, function: Fn) -> list[Call]:
        names = self._judgement.profile.launch.compile_calls
        return [
            call
            for call in function.facts.calls
            if call.name not in names
            and (
                self._judgement.paths.is_device_call(function, call)
                or self._launches_given(function, call)
                or self._asks_backend_itself(function, call)
            )
        ]

    def _asks_backend_itself(self, function: Fn, call: Call) -> bool:
        """Say whether the default of a backend's operation is another one that each backend has to have."""
        return (
            function.is_trait_default
            and function.trait in self._judgement.profile.launch.backend_traits
            and call.kind == CallKind.METHOD
            and function.text(call.start, call.name_start).rstrip(". \n") == "self"
            and any(
                one.name == call.name and not one.has_body
                for one in self._judgement.workspace.trait_methods.get(function.trait, ())
            )
        )

    def _launches_given(self, function: Fn, call: Call) -> bool:
        """Say whether a call runs a launcher that the function was given, in a crate of kernels."""
        if call.kind != CallKind.PLAIN or not self._judgement.is_gpu_located(function):
            return False
        header = function.text(function.facts.name_start, function.facts.body_start)
        return any(one.name == call.name for one in function.facts.parameters) and bool(
            _CALLABLE.search(header)
        )

    def _is_composite(self, function: Fn, call: Call, depth: int = 4) -> bool:
        """Say whether a call runs operators that find the device by themselves, and no kernel of its own."""
        if self._summaries.is_launch(function, call) or self._launches_given(function, call):
            return False
        callees = [
            one
            for one in self._summaries.resolver.resolve(function, call)
            if one.index in self._summaries.launching
        ]
        if not callees or any(self._judgement.is_gpu_located(one) for one in callees):
            return False
        if depth == 0 or any(one.facts.visibility == "pub" for one in callees):
            return True
        # A private helper is a part of the function itself.
        return all(
            self._is_composite(one, inner, depth - 1) for one in callees for inner in self._work_calls(one)
        )

    def view(self, function: Fn, depth: int = 3) -> Call | None:
        """Return the call by which a function gives another view of its operand, and does no more."""
        if (
            self._summaries.reads.get(function.index)
            or function.index in self._summaries.launching
            or not self._summaries.operands.names_device_type(function.facts.return_type)
            or any(self._reads_below(function, call) for call in function.facts.calls)
        ):
            return None
        views = self._judgement.profile.launch.views
        for call in function.facts.calls:
            if call.kind == CallKind.MACRO:
                continue
            if call.name in views:
                return call
            callees = self._summaries.resolver.resolve(function, call) if depth else ()
            if callees and all(self.view(one, depth - 1) is not None for one in callees):
                return call
        return None

    def _reads_below(self, function: Fn, call: Call) -> bool:
        """Say whether a call computes on the host by default where its data may be on a device."""
        return self._summaries.place_at(function, call) is not Place.HOST and any(
            not read.pardon
            for callee in self._summaries.resolver.resolve(function, call)
            for read in self._summaries.reads.get(callee.index, ())
        )

    def reads_nothing(self, function: Fn) -> bool:
        """Say whether a function has no call that reads a tensor, of whatever, and calls none that does."""
        names = self._judgement.profile.downloads | self._refusing
        return not self._summaries.reads.get(function.index) and not any(
            (call.kind != CallKind.MACRO and call.name in names and not self._makes_storage(function, call))
            or self._reads_below(function, call)
            for call in function.facts.calls
        )

    def _makes_storage(self, function: Fn, call: Call) -> bool:
        """Say whether a call makes storage of host data, though a transfer has its name."""
        return self._summaries.operands.makes_host_storage(function.text(call.start, call.end))

    # -- errors ------------------------------------------------------------------------------------------

    def refusal(self, function: Fn) -> Refusal | None:
        """Return where device data is refused with a structured error."""
        flow = self._summaries.flow(function)
        for call in self._structured_errors(function):
            region = function.facts.regions[call.region]
            if call.region == 0 and region.tail_start <= call.start < region.tail_end:
                return Refusal(function, call)
            if any(
                test.encloses and flow.place(test) is Place.DEVICE
                for test in flow.tests_at(call.start, call.region)
            ):
                return Refusal(function, call)
        return self._passed_on(function)

    def _passed_on(self, function: Fn) -> Refusal | None:
        """Return the call through which a function refuses: a helper's error, or a refusing accessor."""
        first = self._summaries.rejecting.get(function.index)
        if first is None:
            return None
        holder, reason, seen = function, first, {function.index}
        while reason.callee is not None and reason.callee.index not in seen:
            seen.add(reason.callee.index)
            following = self._summaries.rejecting.get(reason.callee.index)
            if following is None:
                break
            holder, reason = reason.callee, following
        is_structured = reason.call.name in self._refusing or self._is_structured(holder, reason.call)
        return Refusal(function, first.call) if is_structured else None

    def refused_below(self, function: Fn) -> Call | None:
        """Return a call that refuses device data, in a function that neither reads any nor works on it.

        The call need not be reached each time: where it is not, nothing is computed.
        """
        reads = self._summaries.reads.get(function.index, ())
        if any(read.pardon != "rejected" for read in reads):
            return None
        for call in function.facts.calls:
            if self._summaries.is_refusing_access(function, call):
                return call
            if not self._summaries.graph.propagates(function, call):
                continue
            callees = self._summaries.resolver.resolve(function, call)
            if callees and all(self._only_refuses(one) for one in callees):
                return call
        return None

    def _only_refuses(self, function: Fn) -> bool:
        """Say whether a function refuses device data with a structured error, and reads none before."""
        reason = self._summaries.rejecting.get(function.index)
        if reason is None or any(not read.pardon for read in self._summaries.reads.get(function.index, ())):
            return False
        return self._is_structured(function, reason.call) or self._passed_on(function) is not None

    def has_text_error(self, function: Fn) -> bool:
        """Say whether any error of a function is text in a catch-all variant."""
        return any(
            (call.name == "Err" or call.name in _CONVERSIONS)
            and self._stringly.search(function.text(call.start, call.end))
            for call in function.facts.calls
        )

    def failure(self, function: Fn) -> Refusal | None:
        """Return where the failure of an attempt on the device becomes the function's error."""
        flow, paths = self._summaries.flow(function), self._judgement.paths
        for call in self._structured_errors(function):
            if any(
                test.encloses and paths.is_failed_attempt(function, test)
                for test in flow.tests_at(call.start, call.region)
            ):
                return Refusal(function, call)
        names = self._judgement.profile.launch.compile_calls
        for call in function.facts.calls:
            is_attempt = call.name in names or paths.is_device_call(function, call)
            if is_attempt and self._summaries.graph.propagates(function, call):
                return Refusal(function, call)
            if call.name in _CONVERSIONS and self._converts_failure(function, call):
                return Refusal(function, call)
        return None

    def fails_with_text(self, function: Fn) -> bool:
        """Say whether the failure of an attempt on the device becomes text in a catch-all."""
        return any(self._is_text_error(function, call) for call in function.facts.calls)

    def _is_text_error(self, function: Fn, call: Call) -> bool:
        """Say whether a call turns the failure of an attempt into text in a catch-all variant."""
        text = function.text(call.start, call.end)
        if not self._stringly.search(text) or self._structured.search(text):
            return False
        if call.name in _CONVERSIONS:
            return self._converts_failure(function, call)
        return call.name == "Err" and any(
            test.encloses and self._judgement.paths.is_failed_attempt(function, test)
            for test in self._summaries.flow(function).tests_at(call.start, call.region)
        )

    def _converts_failure(self, function: Fn, call: Call) -> bool:
        receiver = function.text(call.start, call.name_start).rstrip(". \n")
        return self._judgement.paths.attempts(function, receiver)

    def _structured_errors(self, function: Fn) -> Iterator[Call]:
        return (
            call
            for call in function.facts.calls
            if call.name == "Err" and self._is_structured(function, call)
        )

    def _is_structured(self, function: Fn, call: Call) -> bool:
        return bool(self._structured.search(function.text(call.start, call.end)))

    # -- transfers and host bodies ------------------------------------------------------------------------

    def transfer(self, function: Fn) -> Call | None:
        """Return the read of a function that reads or moves by its name or its result."""
        reads = self._summaries.reads.get(function.index, ())
        legal = [read for read in reads if read.pardon in _LEGAL]
        if legal and len(legal) == len(reads):
            return legal[0].call
        return None

    def consenting_callers(self, function: Fn) -> list[Fn]:
        """Return the callers for whose opt-in alone a function reads; none where it reads without."""
        reads = self._summaries.reads.get(function.index, ())
        if not reads or any(read.pardon != "callers-opt-in" for read in reads):
            return []
        callers = {caller.index: caller for caller, _ in self._summaries.callers(function)}
        return list(callers.values())

    def refusing_access_behind(self, function: Fn, gate: Call) -> Call | None:
        """Return the access behind a gate that errors for device data: the opted-in body can't run."""
        operands, flow = self._summaries.operands, self._summaries.flow(function)
        around = frozenset(function.ancestors(gate.region))
        for call in function.facts.calls:
            if call.start < gate.end or call.name not in self._refusing or call.kind != CallKind.METHOD:
                continue
            regions = [function.facts.regions[one].kind for one in function.ancestors(call.region)]
            is_certain = call.region in around or set(regions) <= {RegionKind.BODY, RegionKind.LOOP}
            operand = function.text(call.start, call.name_start).rstrip(". \n")
            if (
                is_certain
                and call.is_tried
                and operands.may_be_on_device(function, flow, operand, call)
                and self._summaries.place_at(function, call) is not Place.HOST
            ):
                return call
        return None

"""Saying what became of earlier results: one of the outcomes, with evidence, or nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from posixpath import splitext

from audit.scanner.extract.facts import Call
from audit.scanner.judge import Judgement
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.matching import is_one_family
from audit.scanner.outcome.gating import GateCall
from audit.scanner.outcome.items import Items
from audit.scanner.outcome.standing import Standing, Work
from audit.scanner.report import EarlierResult, EvidenceStep, Outcome, Region, Result, SiteOutcome

# What the rule pointed at was a text, a test or a place, and no computation: it stands or it doesn't.
_THINGS = {
    "FT009": "no untested operation is seen here any more",
    "FT010": "no test that passes without a GPU is seen here any more",
    "FT014": "the comment is gone",
    "FT015": "no kernel stands here any more",
    "FT018": "the phrase is gone",
}
_FAILURE_RULES = frozenset({"FT012", "FT013", "FT016"})
_FAILURE_FORMS = frozenset({"failed-attempt"})
# What the rule pointed at was a part of a function that may be gone while the function stands.
_PARTS = {
    "FT003": "what put the work off is gone",
    "FT016": "the error of text is gone, and nothing here answers a GPU case with text",
}
_DEFERRED, _TEXT_ERROR = "FT003", "FT016"
# What the rule pointed at was a read of device data that nothing but the function's own body led to.
_READS = frozenset({"FT005", "FT008"})
_LIMIT = "FT011"
_BROKEN_PTX = "FT017"
_CAN_NOT_RUN = "errors before it computes"


class Outcomes:
    """Answers for one judged commit with its results.

    What is said of an earlier result holds if none of them is the same place, edited or moved. `unread` are
    the paths of files of which nothing is known: what is not seen elsewhere may have moved there.
    """

    def __init__(
        self,
        judgement: Judgement,
        results: Sequence[Result],
        earlier: Sequence[EarlierResult],
        unread: Collection[str] = (),
    ) -> None:
        self._judgement = judgement
        self._unread = {splitext(path)[1] for path in unread}
        self._earlier: dict[str, list[EarlierResult]] = defaultdict(list)
        for one in earlier:
            self._earlier[one.symbol].append(one)
        self._results: dict[str, list[Result]] = defaultdict(list)
        for result in results:
            self._results[result.symbol].append(result)
        self._items = Items(judgement)
        self._standing = Standing(judgement)

    def of(self, earlier: EarlierResult) -> SiteOutcome | None:
        """Say what stands where an earlier result was; None when the code does not tell."""
        functions = self._items.of(earlier)
        if earlier.rule_id == _BROKEN_PTX:
            return self._of_kernel_text(earlier)
        if not functions:
            return self._without_item(earlier)
        if any(one.unit.facts.errors and one.unit.path != earlier.path for one in functions):
            # It moved to where the parser guesses: what it guesses there is no outcome.
            return None
        found = [self._of_function(earlier, one) for one in functions]
        if any(one is None for one in found):
            # One of several implementations still does what it did: nothing can be said of them together.
            found = [] if earlier.rule_id not in _THINGS else found
        told = next((one for one in found if one is not None), None)
        return told or self._thing_gone(earlier, functions[0])

    def all_of(self, earlier: Iterable[EarlierResult]) -> Mapping[int, SiteOutcome]:
        """Say it of many, by their keys."""
        told = ((one.key, self.of(one)) for one in earlier)
        return {key: outcome for key, outcome in told if outcome is not None}

    def _without_item(self, earlier: EarlierResult) -> SiteOutcome | None:
        name = earlier.symbol.rpartition("::")[2]
        if self._may_be_unread(earlier.path, name):
            return None
        if earlier.path not in self._paths:
            return SiteOutcome(Outcome.REMOVED, f"`{earlier.path}` is gone, and `{name}` with it")
        if self._is_item(earlier):
            return SiteOutcome(Outcome.REMOVED, f"`{name}` is gone from `{earlier.path}`")
        if earlier.rule_id in _THINGS:
            return SiteOutcome(Outcome.REMOVED, _THINGS[earlier.rule_id])
        return None

    def _may_be_unread(self, path: str, name: str) -> bool:
        """Whether an item that is not seen may stand in a file that was not read, or does not parse."""
        if splitext(path)[1] in self._unread:
            return True
        word = re.escape(name.encode())
        declared = re.compile(rb"\b(?:fn|const|static)\s+%b\b|\bmacro_rules!\s*%b\b" % (word, word))
        return bool(name) and any(declared.search(unit.data) for unit in self._partial if unit.path != path)

    @cached_property
    def _partial(self) -> Sequence[Unit]:
        return [unit for unit in self._judgement.workspace.units.values() if unit.facts.errors]

    @property
    def _paths(self) -> frozenset[str]:
        documents = (unit.path for unit in self._judgement.documents)
        return frozenset((*self._judgement.workspace.units, *documents))

    def _is_item(self, earlier: EarlierResult) -> bool:
        """Say whether the symbol named an item inside its file, and not the file's module itself."""
        unit = self._judgement.workspace.units.get(earlier.path)
        if unit is None or not earlier.symbol:
            return False
        return earlier.symbol != "::".join(part for part in (unit.crate_name, *unit.module) if part)

    def _thing_gone(self, earlier: EarlierResult, function: Fn) -> SiteOutcome | None:
        reason = _THINGS.get(earlier.rule_id)
        if reason is None:
            return None
        return SiteOutcome(Outcome.REMOVED, reason, (_at(function, "anchor", "what stands here now"),))

    def _of_kernel_text(self, earlier: EarlierResult) -> SiteOutcome | None:
        name = earlier.symbol.rpartition("::")[2]
        unit = self._judgement.workspace.units.get(earlier.path)
        if unit is not None and name and any(item.name == name for item in unit.facts.items):
            return SiteOutcome(Outcome.DEVICE_KERNEL, self._who_takes(name, earlier.path))
        if self._may_be_unread(earlier.path, name):
            return None
        return SiteOutcome(Outcome.REMOVED, f"`{name}` is gone from `{earlier.path}`")

    def _who_takes(self, name: str, path: str) -> str:
        """Say who takes a text: the driver where one was asked, else the assembler."""
        kernels = self._judgement.kernels
        for text in kernels.texts:
            if text.name == name and text.unit.path == path:
                answer = kernels.loaded_by(text.text)
                if answer is not None:
                    return f"the driver loads `{name}` ({answer.machine})"
        return f"the assembler takes `{name}` now"

    # -- functions ---------------------------------------------------------------------------------------

    def _of_function(self, earlier: EarlierResult, function: Fn) -> SiteOutcome | None:
        if earlier.rule_id in _THINGS and earlier.rule_id not in ("FT009", "FT014"):
            return None
        if earlier.rule_id in _FAILURE_RULES or earlier.form in _FAILURE_FORMS:
            return self._of_failure(earlier, function)
        if self._standing.open_paths(function):
            beside = self._beside(earlier, function)
            if any(one.rule_id == earlier.rule_id for one in beside):
                return self._one_of_several(earlier, function, beside)
            if not beside or not self._are_fewer(earlier, beside):
                return None
        if earlier.rule_id == _LIMIT and (refused := self._refused(function)) is not None:
            # There was a device path before: new is what answers the cases that it leaves out.
            return refused
        return (
            self._worked(function, self._standing.work(function))
            or self._gated(function)
            or self._gated_above(function)
            or self._refused(function)
            or self._transferred(function)
            or self._viewed(function)
            or self._refused_below(function)
            or self._part_gone(earlier, function)
            or self._read_gone(earlier, function)
        )

    def _beside(self, earlier: EarlierResult, function: Fn) -> list[Result]:
        """Return what is seen in the function by rules that see what the earlier one saw."""
        return [
            one
            for one in self._results[function.symbol]
            if one.path == function.unit.path and is_one_family(one.rule_id, earlier.rule_id)
        ]

    def _are_fewer(self, earlier: EarlierResult, beside: Sequence[Result]) -> bool:
        """Whether each that is seen now may be one that was there besides the earlier one."""
        were = sum(is_one_family(one.rule_id, earlier.rule_id) for one in self._earlier[earlier.symbol])
        return len(beside) < were

    def _one_of_several(
        self, earlier: EarlierResult, function: Fn, beside: Sequence[Result]
    ) -> SiteOutcome | None:
        """Say that a place is gone while others of its kind stand in the function, each for itself."""
        if not beside or not self._are_fewer(earlier, beside):
            return None
        several = f"{len(beside)} places like it are" if len(beside) > 1 else "one place like it is"
        text = f"the place is gone from `{function.name}`, where {several} still seen"
        steps = [EvidenceStep("effect", one.path, one.region, one.symbol, "still seen") for one in beside[:5]]
        return SiteOutcome(Outcome.REMOVED, text, (_at(function, "anchor", text), *steps))

    def _of_failure(self, earlier: EarlierResult, function: Fn) -> SiteOutcome | None:
        """Say what a function does now when the device path fails."""
        if self._standing.fails_onto_host(function):
            same = [one for one in self._beside(earlier, function) if one.rule_id == earlier.rule_id]
            return self._one_of_several(earlier, function, same)
        gates = self._standing.gating.gates(function)
        if gates:
            return self._gated(function, needs_reads=False)
        if self._standing.fails_with_text(function):
            return None
        failure = self._standing.failure(function)
        if failure is not None:
            return self._refusal(function, failure.call, "the failure is the function's own error")
        if self._standing.open_paths(function):
            return None
        return (
            self._refused(function)
            or self._worked(function, self._standing.work(function))
            or self._transferred(function)
            or self._viewed(function)
            or self._part_gone(earlier, function)
        )

    def _part_gone(self, earlier: EarlierResult, function: Fn) -> SiteOutcome | None:
        """Say that a part of a function is gone, where nothing of its kind stands there now."""
        reason = _PARTS.get(earlier.rule_id)
        if reason is None:
            return None
        if beside := self._beside(earlier, function):
            return self._one_of_several(earlier, function, beside)
        if earlier.rule_id == _TEXT_ERROR and self._standing.has_text_error(function):
            return None
        if earlier.rule_id == _DEFERRED and self._standing.open_paths(function):
            return None
        return SiteOutcome(Outcome.REMOVED, reason, (_at(function, "anchor", "what stands here now"),))

    def _read_gone(self, earlier: EarlierResult, function: Fn) -> SiteOutcome | None:
        """Say that a read is gone, where the function stands and reads nothing any more."""
        if earlier.rule_id not in _READS or self._beside(earlier, function):
            return None
        if not self._standing.reads_nothing(function):
            return None
        text = f"the read is gone: `{function.name}` reads no device data, nor does what it calls"
        return SiteOutcome(Outcome.REMOVED, text, (_at(function, "anchor", text),))

    def _worked(self, function: Fn, work: Work | None) -> SiteOutcome | None:
        if work is None:
            return None
        name = work.call.name
        if work.is_composite:
            step = _step(function, work.call, "effect", f"`{name}` finds the device by itself")
            text = f"`{function.name}` is made of operators that run where their operands are"
            return SiteOutcome(Outcome.COMPOSITE, text, (_at(function, "anchor", text), step))
        step = _step(function, work.call, "effect", f"`{name}` puts the work on the device")
        text = f"`{function.name}` runs on the device"
        return SiteOutcome(Outcome.DEVICE_KERNEL, text, (_at(function, "anchor", text), step))

    def _gated(self, function: Fn, *, needs_reads: bool = True) -> SiteOutcome | None:
        """Say that a function falls back only when opted in, if each of its gates warns and tells of what."""
        gating = self._standing.gating
        gates = gating.gates(function)
        if not gates or (needs_reads and self._standing.open_paths(function)):
            return None
        steps = []
        for gate in gates:
            warning = gating.warning_of(function, gate)
            if (
                warning is None
                or not gating.is_asked_each_time(function, gate)
                or not gating.names_its_case(*warning)
            ):
                return None
            steps.append(_step(function, gate.call, "guard", "computes on the host only when opted in"))
            steps.append(_step(*warning, "effect", "and warns each time, naming kernel and variable"))
        text = f"`{function.name}` falls back only when the user opted in, with a warning"
        return SiteOutcome(
            Outcome.OPT_IN_FALLBACK,
            text,
            (_at(function, "anchor", text), *steps),
            self._host_body(function, gates),
        )

    def _gated_above(self, function: Fn) -> SiteOutcome | None:
        """Say that a function gets device data only from callers that asked for the opt-in, and warned."""
        callers = self._standing.consenting_callers(function)
        gated = [self._gated(one, needs_reads=False) for one in callers]
        if not gated or any(one is None for one in gated):
            return None
        text = f"`{function.name}` gets device data only where its callers asked for the opt-in, and warned"
        steps = [step for one in gated if one is not None for step in one.steps[1:]]
        return SiteOutcome(Outcome.OPT_IN_FALLBACK, text, (_at(function, "anchor", text), *steps))

    def _host_body(self, function: Fn, gates: Iterable[GateCall]) -> Mapping[str, str]:
        for gate in gates:
            access = self._standing.refusing_access_behind(function, gate.call)
            if access is not None:
                line = function.unit.line(access.start)
                return {"hostBody": f"{_CAN_NOT_RUN}: `{access.name}` at line {line} refuses device data"}
        return {}

    def _viewed(self, function: Fn) -> SiteOutcome | None:
        view = self._standing.view(function)
        if view is None:
            return None
        text = f"`{function.name}` changes shape or strides alone, which needs no kernel on any device"
        step = _step(function, view, "effect", f"`{view.name}` gives another view of the same data")
        return SiteOutcome(Outcome.COMPOSITE, text, (_at(function, "anchor", text), step))

    def _refused_below(self, function: Fn) -> SiteOutcome | None:
        call = self._standing.refused_below(function)
        if call is None:
            return None
        return self._refusal(function, call, f"`{call.name}` refuses device data, and the error is passed on")

    def _refused(self, function: Fn) -> SiteOutcome | None:
        refusal = self._standing.refusal(function)
        if refusal is None:
            return None
        return self._refusal(function, refusal.call, "device data is refused here")

    def _refusal(self, function: Fn, call: Call, message: str) -> SiteOutcome:
        text = f"`{function.name}` returns a structured error"
        steps = (_at(function, "anchor", text), _step(function, call, "effect", message))
        return SiteOutcome(Outcome.STRUCTURED_ERROR, text, steps)

    def _transferred(self, function: Fn) -> SiteOutcome | None:
        call = self._standing.transfer(function)
        if call is None:
            return None
        text = f"`{function.name}` says by its name or its result that it transfers"
        steps = (_at(function, "anchor", text), _step(function, call, "effect", "the transfer"))
        return SiteOutcome(Outcome.EXPLICIT_TRANSFER, text, steps)


def _at(function: Fn, role: str, message: str) -> EvidenceStep:
    facts = function.facts
    region = function.unit.region(facts.name_start, facts.name_start + max(len(function.name.encode()), 1))
    return EvidenceStep(role, function.unit.path, region, function.symbol, message)


def _step(function: Fn, call: Call, role: str, message: str) -> EvidenceStep:
    region: Region = function.unit.region(call.start, call.end)
    return EvidenceStep(role, function.unit.path, region, function.symbol, message)

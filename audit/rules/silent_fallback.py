"""FT001: silent-fallback."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.fallback_examples import INVALID, VALID
from audit.scanner.extract.facts import RegionKind
from audit.scanner.judge import Candidate, Judgement, Step, stand_in_candidate
from audit.scanner.link.entries import Trigger
from audit.scanner.link.flow import Test
from audit.scanner.link.paths import HostPath
from audit.scanner.link.summaries import Read
from audit.scanner.link.unit import Fn
from audit.scanner.link.uses import Use
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level


class SilentFallback(Rule):
    """
    ## What it does
    Checks for GPU code that computes on the host, by default and without a word, when a kernel can't be
    compiled or launched, or when a device path was tried and did not yield.

    ## Why is this bad?
    PyTorch raises `RuntimeError` when an operator has no CUDA kernel. A fallback that nobody asked for
    keeps the program running, many times slower, and hides that the kernel never worked. In the tests it
    passes.

    ## Use instead
    Return a structured error that names the kernel (`GpuError::PtxCompileFailed { kernel }`), or gate the
    host body behind the opt-in variable, read on every call, with a `tracing::warn!` on every fallback.

    ## Known problems
    An attempt whose failure is kept in a field or a static and acted on in another function is not seen.
    """

    id = "FT001"
    name = "silent-fallback"
    level = Level.ERROR
    message = "computes on the host by default when the device path fails"
    follows_device_data = True
    invalid = INVALID
    valid = VALID

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths that a failure, or a device path that did not yield, leads to."""
        gate = any_pattern(judgement.profile.gate.environment_patterns)
        for path in judgement.paths.all:
            if path.trigger is Trigger.FAILURE:
                if not _is_asked_in_attempt(path, gate):
                    yield judgement.host_path_candidate(path, "failed-attempt")
            elif path.launches_beside:
                continue
            elif path.trigger is Trigger.NONE and path.launch is None and path.use is not Use.COPIED:
                if path.has_device_path:
                    yield judgement.host_path_candidate(path, "default-host-path")
                elif path.is_host_update:
                    yield judgement.host_path_candidate(path, "state-updated-on-host")
                elif path.is_transport:
                    yield judgement.host_path_candidate(path, "host-transport")
        yield from _swallowed_refusals(judgement)
        yield from map(stand_in_candidate, judgement.stand_ins_on_failure)
        for function in judgement.product_functions:
            for stand_in in judgement.paths.stand_ins.dropped_errors(function):
                yield stand_in_candidate(
                    stand_in, "drops an error of the device, after which the host computes"
                )


def _is_asked_in_attempt(path: HostPath, gate: re.Pattern[str]) -> bool:
    """Say whether the branch that tries the device asks for the opt-in before it gives up."""
    if path.test is None:
        return False
    regions = path.function.facts.regions
    branch = regions[regions[path.test.region].parent]
    before = path.function.text(branch.start, regions[path.test.region].group_start)
    return branch.kind == RegionKind.THEN and gate.search(before) is not None


def _swallowed_refusals(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the reads that an accessor's refusal of device data leads to: the error was the answer."""
    names = "|".join(map(re.escape, judgement.profile.transfer.refusing_accessors))
    refusal = re.compile(rf"^(.+)\.(?:{names})\(\)$", re.DOTALL)
    for index, reads in judgement.summaries.reads.items():
        function = judgement.workspace.functions[index]
        flow = judgement.summaries.flow(function)
        for read in reads:
            if read.helper is not None:
                continue
            for test in flow.tests_at(read.call.start, read.call.region):
                asked = refusal.match(test.subject.strip())
                is_failure = test.holds and test.pattern.strip().startswith("Err")
                if test.encloses and is_failure and asked is not None and asked[1] == read.operand:
                    yield _swallowed(function, read, test)
                    break


def _swallowed(function: Fn, read: Read, test: Test) -> Candidate:
    region = function.facts.regions[test.region]
    span = region.condition_start, region.condition_end
    guard = Step("guard", function.unit, *span, function.symbol, "refuses device data")
    call = read.call
    message = f"`{read.operand}` is read on the host all the same"
    return Candidate(
        unit=function.unit,
        start=call.start,
        end=call.end,
        function=function,
        form="refusal-swallowed",
        guard=test.subject,
        cause=(function.unit.path, function.index, call.start),
        steps=(Step("anchor", function.unit, call.start, call.end, function.symbol, message), guard),
    )

"""FT016: unstructured-error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.asked_before import AskedBefore
from audit.rules.forms.asked_examples import ASKED_VALID
from audit.rules.forms.error_examples import INVALID
from audit.rules.forms.error_types import Errors
from audit.rules.forms.macro_errors import MACRO_INVALID, MACRO_VALID
from audit.rules.forms.refusals import DTYPE_TEST, absences, refusals
from audit.rules.forms.seeming_examples import SEEMING_INVALID
from audit.rules.forms.sound_errors import VALID
from audit.rules.forms.unasked_examples import UNASKED_INVALID
from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.admitted import is_in_arm_for_type
from audit.scanner.link.closures import carrier, error_adapter
from audit.scanner.link.flow import Flow, Test, split_operator
from audit.scanner.link.unit import Fn
from audit.scanner.report import Level

_TYPE_PARAMETER = re.compile(r"<[^<>]*\b[A-Z]\b")
_ERROR_AS_TEXT = re.compile(r"\{\s*\w*(?::[^}]*)?\}|\.to_string\(\)|format!")
_FAILURE = re.compile(r"\bResult<[^,]*,\s*(.*)>$")
# The only value of a variant is the error itself: nothing is lost.
_KEPT_WHOLE = re.compile(r"::\w+\s*\(\s*\w+\s*\)\s*\}?$")
_ERROR_TYPE = re.compile(r"^(?:\w+::)*\w*Err(?:or)?$")


class UnstructuredError(Rule):
    """
    ## What it does
    Checks for unsupported GPU cases that are answered with text in a catch-all variant, or by a macro that
    makes one: trait defaults, refusals of device tensors or dtypes, limits of kernels, structured errors that
    are turned into text on their way up, and a kernel of one dtype that is called for any.

    ## Why is this bad?
    A caller can't match on prose. PyTorch raises `NotImplementedError` for a missing backend and other types
    for other failures, so that a program can tell `unsupported` from `wrong argument`.

    ## Use instead
    A variant that names operator, dtype and device (`GpuError::Unsupported { op, dtype, device }`,
    `NotImplementedOnCuda { op }`), and `#[from]` or a field for the cause.

    ## Known problems
    A macro that the profile doesn't name is not seen, nor a catch-all variant that holds more than a text.
    Left out are macros of crates whose errors are all text (`anyhow`, `eyre`), what a build without the
    device says, and texts about a wrong argument, a layout, or a part that a model has not on any device;
    and a dtype that all callers of a function of the crate's own have asked for. What they admit is believed.
    """

    id = "FT016"
    name = "unstructured-error"
    level = Level.WARNING
    message = "answers an unsupported GPU case with text"
    invalid = (*INVALID, *MACRO_INVALID, *UNASKED_INVALID, *SEEMING_INVALID)
    valid = (*VALID, *MACRO_VALID, *ASKED_VALID)

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the textual answers of product code."""
        errors, asked = Errors(judgement), AskedBefore(judgement)
        yield from absences(judgement, errors)
        key = (_wrong_dtype, errors.answering)
        for function in judgement.product_functions_where(
            key, lambda one: errors.may_answer(one) or _calls_for_float32(one)
        ):
            flow = judgement.summaries.flow(function)
            if not errors.is_host_code(function):
                yield from refusals(judgement, flow, errors, asked)
            yield from _wrong_dtype(judgement, flow)
            if _is_conversion(function):
                yield from _converted(function, errors)
            else:
                yield from _flattened(judgement, function, errors)


def _calls_for_float32(function: Fn) -> bool:
    return any(call.name.endswith("_f32") for call in function.facts.calls)


def _wrong_dtype(judgement: Judgement, flow: Flow) -> Iterator[Candidate]:
    """Yield the first backend call of a generic function that names a dtype nobody tested."""
    function = flow.function
    header = function.owner.header if function.owner is not None else ""
    if not _TYPE_PARAMETER.search(function.facts.generics + header):
        return
    for call in function.facts.calls:
        if not call.name.endswith("_f32") or not judgement.summaries.is_backend_operation(function, call):
            continue
        if not _is_told_dtype(judgement, function, call):
            yield Candidate(function.unit, call.start, call.end, function, "wrong-dtype-kernel-call")
            return


def _is_told_dtype(judgement: Judgement, function: Fn, call: Call) -> bool:
    """Say whether the dtype is told where a call stands, or wherever a private function is called."""
    if _is_told_at(judgement, function, call):
        return True
    callers = [] if function.is_public else [*judgement.summaries.callers(function)]
    return bool(callers) and all(_is_told_at(judgement, caller, one) for caller, one in callers)


def _is_told_at(judgement: Judgement, function: Fn, call: Call) -> bool:
    flow = judgement.summaries.flow(function)
    tests = flow.tests_at(call.start, call.region)
    return any(_tells_dtype(flow, test) for test in tests) or is_in_arm_for_type(function, call)


def _tells_dtype(flow: Flow, test: Test) -> bool:
    """Say whether a test that holds (or does not) tells the dtype.

    Where `is_f32() && other` does not hold, the dtype may be any.
    """
    subject = flow.expand(test.subject)
    if not test.pattern and not test.holds:
        parts = split_operator(subject, "&&")
        if len(parts) > 1:
            return all(DTYPE_TEST.search(part) for part in parts)
    return bool(DTYPE_TEST.search(f"{subject} {test.pattern}"))


def _is_conversion(function: Fn) -> bool:
    """Say whether a function makes one error of another, as `From` does: `.map_err(text_of)`."""
    if function.trait == "From":
        return function.name == "from"
    facts = function.facts
    return len(facts.parameters) == 1 and bool(_ERROR_TYPE.match(facts.return_type.strip()))


def _converted(function: Fn, errors: Errors) -> Iterator[Candidate]:
    """Yield a function that makes every variant of a structured error the same text."""
    parameters = function.facts.parameters
    body = function.facts.regions[0]
    text = function.region_text(body)
    if (
        parameters
        and errors.is_structured(parameters[0].type)
        and errors.catch_all.search(text)
        and not _KEPT_WHOLE.search(text)
        and not re.search(r"\bmatch\b", text)
    ):
        form = "structured-to-string-conversion"
        yield Candidate(
            function.unit, body.tail_start or body.start, body.tail_end or body.end, function, form
        )


def _flattened(judgement: Judgement, function: Fn, errors: Errors) -> Iterator[Candidate]:
    """Yield the closures that make an error of the device text."""
    for index, region in enumerate(function.facts.regions):
        if region.kind != RegionKind.CLOSURE:
            continue
        text = function.region_text(region)
        if not errors.catch_all.search(text) or not _ERROR_AS_TEXT.search(text):
            continue
        if errors.is_any_error(function, text):
            continue
        adapter = error_adapter(function, index)
        if adapter is not None and adapter.name == "map_err":
            receiver = function.text(adapter.start, adapter.name_start).rstrip(". \n")
            if _comes_from_the_device(judgement, function, receiver, errors):
                yield Candidate(function.unit, adapter.name_start, adapter.end, function, "map_err-to-string")


def _comes_from_the_device(judgement: Judgement, function: Fn, receiver: str, errors: Errors) -> bool:
    """Say whether what failed is a launch, a transfer, or a call whose error was structured."""
    names = judgement.profile.uploads | judgement.profile.downloads
    start = function.unit.data.find(receiver.encode(), function.facts.body_start, function.facts.body_end)
    end = start + len(receiver.encode())
    for call in function.facts.calls:
        if not start <= call.start < end or _runs_elsewhere(function, call, start):
            continue
        if call.name in names or judgement.summaries.is_launch(function, call):
            return True
        callees = [
            one for one in judgement.summaries.resolver.resolve(function, call) if not _hands_back(one)
        ]
        if _is_method(function) and any(map(_is_binding, callees)):
            continue
        if any(errors.is_structured(callee.facts.return_type) for callee in callees):
            return True
        if any(
            judgement.is_gpu_located(callee) and "Result" in callee.facts.return_type for callee in callees
        ):
            return True
    return False


def _is_method(function: Fn) -> bool:
    return any(parameter.name == "self" for parameter in function.facts.parameters)


def _is_binding(function: Fn) -> bool:
    """Say whether a function binds a library: on what is open, it fails at work and lacks nothing."""
    crate = function.unit.crate_name
    return any(part.endswith("_sys") or part in ("sys", "ffi") for part in (crate, *function.module))


def _hands_back(function: Fn) -> bool:
    """Say whether what a function fails with is what it was given: there is no error to lose."""
    failure = _FAILURE.search(function.facts.return_type)
    return failure is not None and any(
        one.type.replace(" ", "") == failure[1].replace(" ", "") for one in function.facts.parameters
    )


def _runs_elsewhere(function: Fn, call: Call, start: int) -> bool:
    """Say whether a call stands in a closure that what failed was only handed: another thread's work."""
    regions = function.facts.regions
    return any(
        regions[one].kind == RegionKind.CLOSURE
        and start <= regions[one].start
        and carrier(function, one) is None
        for one in function.ancestors(call.region)
    )

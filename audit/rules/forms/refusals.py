"""Refusals in text: an unsupported GPU case that is answered with a catch-all variant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from audit.rules.forms.asked_before import AskedBefore, Refused, admits, is_rebound, names_asked, types_in
from audit.rules.forms.error_types import GAP, Errors
from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.extract.items import split_list
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.flow import Flow, Test
from audit.scanner.link.gated import gated_parts
from audit.scanner.link.places import Place
from audit.scanner.link.results import root
from audit.scanner.link.unit import Fn

DTYPE_TEST = re.compile(
    r"\bis_f(?:16|32|64)\b|\bis_bf16\b|_f(?:16|32|64)::<\w+>\(\)|TypeId|\bdtype\b|size_of::<|\bDType::"
)
_ELEMENT_TEST = re.compile(r"\bdtype\b|\bDType\b|size_of::<|\belem(?:ent)?_size\b|_elem(?:ent)?_size\b")
_ELEMENT_TYPE = re.compile(r"D[Tt]ype\b")
# Two operands that differ: a wrong argument, no dtype that is left out.
_DTYPES_DIFFER = re.compile(
    r"\bdtype(?:\(\))?\s*[!=]=\s*[\w.&*]*\bdtype(?:\(\))?|\bdtype(?:\(\))?\s*[!=]=\s*[\w.]+_dtype\b"
)
# More than one type that tensors compute in, and none of them is it.
_FLOATS = re.compile(r"\bDType::(B?F(?:16|32|64))\b.*\bDType::(?!\1\b)B?F(?:16|32|64)\b", re.DOTALL)
_FOR_ONE_TYPE = re.compile(r"_(?:u16|b?f16|f32|f64)$")
_FLOAT = re.compile(r"\bB?F(?:16|32|64)\b")
_TYPE = re.compile(r"\b(?:B?F|[UI])(?:8|16|32|64)\b")
# The systems that have Metal.
_OF_METAL = frozenset({"macos", "ios"})
# A length that elements of some size do not fill.
_REMAINDER = re.compile(r"%\s*(?:\w+::)*size_of::<\w+>\(\)")
_REST = re.compile(r"(?:\(\s*)?(?:_|[a-z]\w*)(?:\s*,\s*(?:_|[a-z]\w*))*(?:\s*,?\s*\))?")
# It says so too where it speaks of dtypes or of the device: a mode may be unsupported because there is none.
_UNSUPPORTED = re.compile(r"(?i)\bunsupported\b|\bnot supported\b")
_OF_DEVICE_OR_DTYPE = re.compile(
    r"(?i)\b(?:dtypes?|data types?|cuda|metal|gpu|devices?|kernels?)\b|_dtype\b"
    r"|\b(?:b?f|fp)\d+\w* (?:is|are) not\b"
)
# What a kernel may be limited to.
_OF_A_KERNEL = re.compile(
    _OF_DEVICE_OR_DTYPE.pattern
    + r"|\b(?:b?f|fp|q)\d+\w*\b|\b(?:heads?|dims?|dimensions?|ranks?|layouts?|contiguous)\b"
)
_ONLY_DEVICE = re.compile(r"(?i)\bonly\b.{0,40}\b(cuda|gpu|metal)\b", re.DOTALL)
# What says that an argument is wrong, whatever the device can do.
_WRONG = re.compile(
    r"(?i)\bmismatch|\bmust\b|\bexpect(?:s|ed)\b|\bdifferent\b|\binvalid\b|\bfailed\b|\bdivisible\b|\bempty\b"
)
_DIFFER = re.compile(r"(?i)\bmismatch|\bmatch(?:es|ing)?\b|\bdifferent\b|\bfailed\b")
# What says that data of the host are asked for: those of a device are the wrong argument.
_HOST_WANTED = re.compile(r"(?i)\bexpect(?:s|ed)?\b[^.;]{0,40}\bcpu\b")
# What a dispatcher says of an operation that no backend has registered a kernel for.
_UNREGISTERED = re.compile(
    r"(?i)\bno kernels?\b[^.;]{0,30}\bregistered\b|\bkernels?\b[^.;]{0,30}\bnot registered\b"
)
_DEVICES = r"(?:gpus?|cuda|metal|vulkan|wgpu|rocm|devices?|adapters?|accelerators?)"
_ABSENT = r"(?:not (?:available|found|present|detected)|unavailable|missing|absent)"
_NO_DEVICE = re.compile(
    rf"(?i)\b{_DEVICES}\b[^.;]{{0,30}}\b{_ABSENT}\b|\bno\b[^.;]{{0,20}}\b{_DEVICES}\b|\bgpu backend is not\b"
)
# The dtype of an operand, as it is asked for.
_DTYPE_OF = re.compile(r"[\w.]+\.dtype(?:\(\))?")
_LOADS = re.compile(r"^(?:load|new|try_new|from|with|build)(?:_|$)")
_ALTERNATIVES = ("ok_or", "ok_or_else")
# A name that stands alone: no field, method or function.
_LOCAL = re.compile(r"(?<![\w.])[a-z_]\w*\b(?!\s*(?:\(|::))")
_UNREACHABLE = re.compile(rb"#\[(?:allow|expect)\([^\]]*\bunreachable_patterns\b[^\]]*\)\]\s*$")


def refusals(judgement: Judgement, flow: Flow, errors: Errors, asked: AskedBefore) -> Iterator[Candidate]:
    """Yield the textual errors of a function that answer an unsupported GPU case."""
    function = flow.function
    graph = judgement.summaries.graph
    if function.index not in graph.erring:
        return
    refused: list[_Taken] = []
    textual = flow.kept_once(errors.words, lambda: _textual(judgement, function, errors))
    for call in textual:
        text = function.text(call.arguments_start, call.end)
        taken = _taken_before(flow, call)
        if taken is not None and any(known.leaves_nothing_to(taken, function) for known in refused):
            continue
        says_unsupported = bool(errors.unsupported.search(text))
        form = _refusal(judgement, flow, call, errors, says_unsupported=says_unsupported)
        if not form and _is_gap(judgement, flow, call, text):
            form = "stringly-err"
        if (
            form
            and not _is_of_what_came_back(judgement, flow, call)
            and not _is_left_out_with_device(judgement, function, call)
            and not _is_asked_before(flow, call, textual, asked)
        ):
            if taken is not None:
                refused.append(taken)
            yield Candidate(function.unit, call.start, call.end, function, form)


def _textual(judgement: Judgement, function: Fn, errors: Errors) -> tuple[Call, ...]:
    """Return the errors of a function that are text: a variant for everything."""
    return tuple(
        call
        for call in function.facts.calls
        if judgement.summaries.graph.is_error(call)
        and errors.is_text(function, call)
        and not _is_never_reached(function, call)
    )


def _refused_by_dtype(flow: Flow, call: Call) -> Refused | None:
    """Return what an error refuses by its dtype; None where it is for another reason."""
    tests = flow.tests_at(call.start, call.region)
    if not tests or not DTYPE_TEST.search(f"{flow.expand(tests[0].subject)} {tests[0].pattern}"):
        return None
    taken = " ".join(_arms_before(tests)) if tests[0].pattern else flow.expand(tests[0].subject)
    return Refused(names_asked(flow, tests[0]), types_in(taken))


def _is_asked_before(flow: Flow, call: Call, textual: Iterable[Call], asked: AskedBefore) -> bool:
    """Say whether no dtype gets to an error: the function has asked before, or whoever calls it has."""
    refused = _refused_by_dtype(flow, call)
    if refused is None:
        return False
    nearest, *others = flow.tests_at(call.start, call.region)
    operand = _DTYPE_OF.fullmatch(nearest.subject.strip())
    if operand is not None and any(
        test.group != nearest.group
        and admits(flow, test, refused)
        and re.search(rf"(?<![\w.]){re.escape(operand[0])}(?![\w(])", test.subject)
        and not is_rebound(flow, test, call.start)
        for test in others
    ):
        return True
    if asked.may_be_named(flow.function):
        return False
    by_dtype = (_refused_by_dtype(flow, one) for one in textual)
    is_only = not any(one is not None and refused.names.isdisjoint(one.names) for one in by_dtype)
    return asked.by_callers(flow.function, refused._replace(is_only=is_only))


def _is_of_what_came_back(judgement: Judgement, flow: Flow, call: Call) -> bool:
    """Say whether an error is for data read from the device that is not as it should be: it was computed."""
    tests = flow.tests_at(call.start, call.region)
    names = _LOCAL.findall(tests[0].subject) if tests else []
    return any(
        f"{name}(" in value
        for value in (flow.value_before(one, call.start) for one in names)
        for name in judgement.profile.downloads
    )


class _Taken(NamedTuple):
    """An arm for all element types that the arms before it do not take, with what is matched."""

    region: int
    roots: tuple[str, ...]
    types: frozenset[str]

    def leaves_nothing_to(self, other: _Taken, function: Fn) -> bool:
        """Say whether what would get to another arm, behind this one, was refused in this one."""
        outer = function.facts.regions[self.region].parent
        return (
            outer in function.ancestors(other.region)
            and self.roots[0] in other.roots
            and self.types <= other.types
        )


def _taken_before(flow: Flow, call: Call) -> _Taken | None:
    if flow.function.facts.regions[call.region].kind != RegionKind.ARM:
        return None
    tests = flow.tests_at(call.start, call.region)
    if not tests or _REST.fullmatch(tests[0].pattern.strip()) is None:
        return None
    types = frozenset(name for pattern in _arms_before(tests) for name in _TYPE.findall(pattern))
    roots = tuple(map(root, split_list(tests[0].subject.strip().strip("()"))))
    return _Taken(call.region, roots, types) if types and roots else None


def _arms_before(tests: list[Test]) -> list[str]:
    """Return the patterns of the arms that are passed before that of the first test."""
    return [test.pattern for test in tests if not test.holds and test.group == tests[0].group]


def _is_left_out_with_device(judgement: Judgement, function: Fn, call: Call) -> bool:
    """Say whether an error stands where a build has no device: a stub that says so is what is asked for."""
    if function.unit.data.find(b"cfg", function.facts.body_start, call.start) < 0:
        return False
    features = frozenset(judgement.profile.gpu.features)
    return any(
        part.start <= call.start < part.end
        and (part.cfg.excludes("feature", features) or part.cfg.excludes("target_os", _OF_METAL))
        for part in gated_parts(function)
    )


def _is_never_reached(function: Fn, call: Call) -> bool:
    """Say whether an arm is marked as one that no value reaches in some builds."""
    region = function.facts.regions[call.region]
    before = function.unit.data[function.facts.body_start : region.pattern_start]
    return region.kind == RegionKind.ARM and _UNREACHABLE.search(before) is not None


def absences(judgement: Judgement, errors: Errors) -> Iterator[Candidate]:
    """Yield where GPU code answers that a device is not there with text: `.ok_or(InvalidArgument { .. })`."""
    graph = judgement.summaries.graph
    for name in _ALTERNATIVES:
        for function, call in graph.calls_by_name.get(name, ()):
            if not judgement.is_gpu_located(function) or not graph.is_examined(function):
                continue
            text = function.text(call.arguments_start, call.end)
            if errors.catch_all.search(text) and _NO_DEVICE.search(text):
                yield Candidate(function.unit, call.name_start, call.end, function, "stringly-err")


def _refusal(judgement: Judgement, flow: Flow, call: Call, errors: Errors, *, says_unsupported: bool) -> str:
    """Tell which unsupported GPU case a textual `Err` answers, as a form; empty when it answers none."""
    function = flow.function
    text = function.text(call.arguments_start, call.end)
    if function.is_trait_default and function.trait in judgement.profile.launch.backend_traits:
        return "trait-default-stringly-err" if call.region == 0 or says_unsupported else ""
    tests = flow.tests_at(call.start, call.region)
    if judgement.summaries.place_at(function, call) is not Place.DEVICE:
        refuses = (
            _takes_buffer(judgement, function, tests)
            or _leaves_element_out(judgement, flow, tests)
            or _leaves_devices_out(judgement, tests)
        )
        return "stringly-err" if says_unsupported and refuses else ""
    nearest = tests[0]
    is_gap = says_unsupported or GAP.search(text) is not None
    if flow.place(nearest) is Place.DEVICE and nearest.encloses:
        wants_host = not is_gap and _HOST_WANTED.search(text) and _is_told_device(function)
        return "" if wants_host else "stringly-err-guard"
    if says_unsupported:
        return "" if _is_of_a_model(judgement, flow, call, text) else "stringly-err"
    subject = _REMAINDER.sub("", _DTYPES_DIFFER.sub("", flow.expand(nearest.subject)))
    is_wrong = (
        errors.has_text_macros
        and not is_gap
        and not _is_rest_of_floats(function, tests, text)
        and _WRONG.search(text)
    )
    return "stringly-err" if DTYPE_TEST.search(subject) and not is_wrong else ""


def _is_told_device(function: Fn) -> bool:
    """Say whether a function is given a device, as one that moves data of the host there is."""
    return any(re.search(r"\bDevice\b", one.type) for one in function.facts.parameters)


def _is_rest_of_floats(function: Fn, tests: list[Test], text: str) -> bool:
    """Say whether an arm is for all types but those that tensors compute in, or for all but some of these.

    Operands that differ are none, and no others than the function is named for.
    """
    if not tests or _DIFFER.search(text) or _FOR_ONE_TYPE.search(function.name):
        return False
    if _FLOATS.search(tests[0].subject):
        return True
    is_rest = _REST.fullmatch(tests[0].pattern.strip()) is not None
    return is_rest and any(map(_FLOAT.search, _arms_before(tests)))


def _is_of_a_model(judgement: Judgement, flow: Flow, call: Call, text: str) -> bool:
    """Say whether a model that is loaded has no such part, on whatever device."""
    loaders = judgement.profile.setup.loader_types
    return (
        _LOADS.match(flow.function.name) is not None
        and any(loader in one.type for one in flow.function.facts.parameters for loader in loaders)
        and not _leaves_case_out(flow, call, text)
    )


def _is_gap(judgement: Judgement, flow: Flow, call: Call, text: str) -> bool:
    """Say whether a function refuses, for what nobody has written, device memory or what it dispatches."""
    function = flow.function
    if _UNREGISTERED.search(text):
        return True
    is_given = _is_given_buffer(judgement, function)
    if not is_given and not _is_of_the_device(judgement, flow, call):
        return False
    if judgement.summaries.place_at(function, call) is Place.HOST or _asks_for_its_device(flow, call, text):
        return False
    is_all = function.text(function.facts.body_start, function.facts.body_end).strip(
        "{} \n"
    ) == function.text(call.start, call.end)
    if is_given and is_all and function.trait in judgement.profile.launch.backend_traits:
        return True
    says_so = GAP.search(text) is not None and (is_given or _OF_A_KERNEL.search(text) is not None)
    return says_so or _leaves_case_out(flow, call, text)


def _asks_for_its_device(flow: Flow, call: Call, text: str) -> bool:
    """Say whether a text says that only the device is supported which a function is for: no host."""
    only = _ONLY_DEVICE.search(text)
    if only is None:
        return False
    function = flow.function
    types = " ".join(one.type for one in function.facts.parameters)
    tests = " ".join(f"{one.subject} {one.pattern}" for one in flow.tests_at(call.start, call.region))
    return only[1].lower() in f"{function.name} {types} {tests}".lower()


def _leaves_case_out(flow: Flow, call: Call, text: str) -> bool:
    """Say whether a text says that a dtype, or the device, is not supported, or stands for other dtypes."""
    tests = flow.tests_at(call.start, call.region)
    if _is_rest_of_floats(flow.function, tests, text):
        return True
    tested = f"{flow.expand(tests[0].subject)} {tests[0].pattern}" if tests else ""
    return bool(_UNSUPPORTED.search(text)) and bool(
        _OF_DEVICE_OR_DTYPE.search(text) or DTYPE_TEST.search(tested)
    )


def _is_of_the_device(judgement: Judgement, flow: Flow, call: Call) -> bool:
    """Say whether a function that is named or located as GPU code takes tensors, and refuses some of them."""
    function = flow.function
    features = frozenset(judgement.profile.gpu.features)
    if not (
        judgement.is_gpu_located(function)
        or judgement.is_gpu_named(function)
        or any(map(judgement.gpu_name.search, function.module))
        or any(cfg.requires("feature", features) for cfg in function.cfgs)
    ):
        return False
    is_device_type = judgement.summaries.operands.names_device_type
    types = [one.type for one in function.facts.parameters]
    return bool(flow.tests_at(call.start, call.region)) and any(
        is_device_type(one) or _ELEMENT_TYPE.search(one) for one in types
    )


def _is_given_buffer(judgement: Judgement, function: Fn) -> bool:
    buffers = judgement.summaries.operands.names_buffer_type
    parameters = function.facts.parameters
    is_backend = function.trait in judgement.profile.launch.backend_traits
    return any(
        buffers(function.self_type) and is_backend if one.name == "self" else buffers(one.type)
        for one in parameters
    )


def _takes_buffer(judgement: Judgement, function: Fn, tests: list[Test]) -> bool:
    """Say whether a function is given device memory and refuses it whatever it is asked."""
    return not tests and _is_given_buffer(judgement, function)


def _leaves_element_out(judgement: Judgement, flow: Flow, tests: list[Test]) -> bool:
    """Say whether a branch is for the elements that are left over, where device memory is made or used."""
    if not tests or not tests[0].pattern or not re.fullmatch(r"_|[a-z]\w*", tests[0].pattern.strip()):
        return False
    facts = flow.function.facts
    types = (facts.return_type, *(parameter.type for parameter in facts.parameters))
    return bool(_ELEMENT_TEST.search(flow.expand(tests[0].subject))) and any(
        map(judgement.summaries.operands.names_buffer_type, types)
    )


def _leaves_devices_out(judgement: Judgement, tests: list[Test]) -> bool:
    """Say whether an arm is for the pairs of devices that are left over."""
    if not tests or not tests[0].holds or not _REST.fullmatch(tests[0].pattern.strip()):
        return False
    return any(map(judgement.summaries.tests.mentions_device, _arms_before(tests)))

"""The forms of work that is put off, and of success without the work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.forms.stubs import STUBS
from audit.scanner.extract.facts import CallKind, ExitKind, Region, RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.emitters import dropped_statements
from audit.scanner.link.literals import literal_parts
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_DROPPED_ERROR = re.compile(r"^Err\(_\w*\)$")
# `Ok(None)` and `Ok(false)` say that nothing was done; who answers them is another rule's matter.
# Named for what it does.
_WAITS = re.compile(r"(?:^|_)(?:sleep|wait|delay|pause|poll|back_?off|throttle|yield)(?:_|$)")
_SUCCESS = re.compile(r"^(?:return\s+)?Ok\s*\((?!\s*(?:None|false|true|\(\))\s*\))")
_SAME_INPUT = re.compile(r"^Ok\(\s*(?:self|\w+)\.clone\(\)\s*\)$")
_NOTHING_DONE = re.compile(r"^return Ok\(\(\)\)$")
_NOTHING_STARTED = re.compile(r"^Ok\(\(\)\)$")
_BARE_HANDLE = re.compile(r"^Ok\(Self \{[\w\s,:]*\}\)$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STARTS_DEVICE = re.compile(r"^(?:init|synchronize|sync|flush|wait|barrier)(?:_|$)")
_ENDS_RESOURCE = re.compile(r"(?i)destroy|free|release|close")
# An answer with the right shape and nothing in it.
_BLANK = re.compile(
    r"^(?:return\s+)?(?:Ok\s*\(\s*)?(?:[\w.]+(?:::|\.))*(?:alloc_)?(?:zeros|empty|ones)\w*\s*\("
)
_BLANKS = (b"zeros", b"empty", b"ones")
# What is said of a body that is yet to be written.
_YET_TO_COME = re.compile(r"(?i:placeholder|not (?:yet|implemented)|\bfuture:)|\bTODO\b")
_FAILED = re.compile(r"^(?:_|Err\(\w+\))$")
_NUMBER = r"\d[\d_.]*(?:[fiu](?:8|16|32|64|128|size))?"
_DEFAULT = re.compile(rf"\s*\.\s*unwrap_or(?:_default\(\)|\(\s*{_NUMBER}\s*\))")
# The same for a pair, of which one part may have been taken first.
_DEFAULTS = re.compile(
    rf"(?:\s*\.\s*map\(\s*\|[^|]*\|\s*\w+\s*\))?"
    rf"\s*\.\s*unwrap_or(?:_default\(\)|\(\s*(?:{_NUMBER}|\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\))\s*\))"
)
_MEMORY = re.compile(r"^(?!.*(?:host|sys|cpu)_)(?:\w+_)?mem(?:ory)?_(?:get_)?info$")
_COUNTS = re.compile(r"(?:^|_)(?:device|gpu|adapter)s?_count$|^(?:num|count)_(?:devices|gpus|adapters)$")
_STATUS_CHECKS = frozenset({"debug_assert", "debug_assert_eq", "debug_assert_ne"})
# Calls that alone are worth a closer look.
_TELLING = frozenset({"panic", "sleep", *STUBS, *_STATUS_CHECKS})


def may_put_off(function: Fn) -> bool:
    """Say whether a function's own text lets one of the forms of this rule through; that of most does not."""
    unit, facts = function.unit, function.facts
    return (
        not _TELLING.isdisjoint([call.name for call in facts.calls])
        or _may_start_nothing(function)
        or _may_invent_figures(function)
        or bool(_COUNTS.search(function.name))
        or unit.lowered.find(b"elapsed", facts.body_start, facts.body_end) >= 0
        or unit.data.find(b"_info(", facts.body_start, facts.body_end) >= 0
        or any(unit.data[let.pattern_start : let.pattern_end] == b"_" for let in facts.lets)
        or next(dropped_statements(function), None) is not None
        or bool(branches_that_may_lie(function))
    )


def _may_start_nothing(function: Fn) -> bool:
    facts = function.facts
    if facts.lets:
        return False
    return (
        not facts.calls
        or _STARTS_DEVICE.match(function.name) is not None
        or function.unit.data.find(b"Self", facts.body_start, facts.body_end) >= 0
    )


def _may_invent_figures(function: Fn) -> bool:
    body = function.facts.regions[0]
    if not function.unit.data.startswith(b"Ok", body.tail_start):
        return False
    return literal_parts(function.text(body.tail_start, body.tail_end))[0] > 0


def dropped_launches(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield launches whose result nobody looks at."""
    if function.index not in judgement.summaries.launching or function.trait == "Drop":
        return
    for let in function.facts.lets:
        if function.text(let.pattern_start, let.pattern_end) != "_":
            continue
        launch = next(
            (
                call
                for call in function.facts.calls
                if let.value_start <= call.start < let.value_end
                and call.end == let.value_end
                and judgement.summaries.is_launch_name(call.name)
                and not _ENDS_RESOURCE.search(call.name)
            ),
            None,
        )
        if launch is not None:
            yield Candidate(function.unit, let.start, let.end, function, "dropped-launch")


def empty_starts(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield functions of GPU crates that say they start, open or await a device, and do nothing."""
    facts = function.facts
    is_offered = facts.visibility or function.trait in judgement.profile.launch.backend_traits
    if not judgement.is_gpu_located(function) or not is_offered or facts.lets:
        return
    is_start = _STARTS_DEVICE.match(function.name) and _NOTHING_STARTED
    is_handle = function.self_type in judgement.profile.tests.constructors and _BARE_HANDLE
    done = is_start or is_handle
    if done and done.match(_without_availability(judgement, function)):
        start, end = facts.regions[0].tail_start, facts.regions[0].tail_end
        form = "empty-init" if is_start else "empty-handle"
        yield Candidate(function.unit, start, end, function, form)


def empty_placeholders(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield functions of GPU code that do nothing, say that this is to come, and are called all the same."""
    facts = function.facts
    if facts.calls or facts.lets or not function.has_body or not judgement.is_gpu_located(function):
        return
    body = _COMMENT.sub("", function.text(facts.body_start, facts.body_end))
    if re.sub(r"\s", "", body) != "{}" or any(cfg.excludes("feature") for cfg in function.cfgs):
        return
    said = (
        function.text(start, end)
        for start, end in function.unit.facts.comments
        if facts.doc_start <= start and end <= facts.body_end
    )
    graph = judgement.summaries.graph
    is_called = any(graph.is_examined(caller) for caller, _ in graph.callers(function))
    if is_called and _YET_TO_COME.search(" ".join(said)):
        yield Candidate(function.unit, facts.body_start, facts.body_end, function, "empty-placeholder")


def _without_availability(judgement: Judgement, function: Fn) -> str:
    """Return what a body does beside refusing where no device is available, without comments."""
    probe = any_pattern(judgement.profile.tests.probe_patterns)
    flow = judgement.summaries.flow(function)
    facts = function.facts
    data = bytearray(function.unit.data[facts.body_start + 1 : facts.body_end - 1])
    for index, region in enumerate(facts.regions):
        condition = function.text(region.condition_start, region.condition_end)
        if region.kind == RegionKind.THEN and flow.returns(index) and probe.search(condition):
            start = region.group_start - facts.body_start - 1
            length = region.group_end - region.group_start
            data[start : start + length] = b" " * length
    return " ".join(_COMMENT.sub(" ", data.decode("utf-8", "replace")).split())


def unchecked_launches(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield launches whose status only a debug build looks at."""
    flow = judgement.summaries.flow(function)
    for call in function.facts.calls:
        if call.kind == CallKind.MACRO and call.name in _STATUS_CHECKS:
            first = re.match(r"\W*(\w+)", function.text(call.arguments_start, call.end))
            value = flow.value_of(first[1]) if first is not None else ""
            if value and not value.endswith("?") and judgement.paths.attempts(function, value):
                yield Candidate(function.unit, call.start, call.end, function, "launch-unchecked-in-release")


def invented_figures(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield answers of literals alone: by a function that never looks at its device, or by a default."""
    body = function.facts.regions[0]
    literal, parts = literal_parts(function.text(body.tail_start, body.tail_end))
    is_default = function.is_trait_default and function.trait in judgement.profile.launch.backend_traits
    if (is_default and 0 < literal < parts) or (
        literal == parts > 0 and _ignores_device(judgement, function)
    ):
        yield Candidate(function.unit, body.tail_start, body.tail_end, function, "invented-figures")


def assumed_devices(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield where GPU code tells how many devices there are, and has asked nobody: the build decides."""
    if not _COUNTS.search(function.name) or not judgement.is_gpu_located(function):
        return
    if not function.facts.visibility or not _asks_nobody(judgement, function, frozenset()):
        return
    for region in function.facts.regions:
        tail = function.text(region.tail_start, region.tail_end)
        if re.fullmatch(_NUMBER, tail) and re.search(r"[1-9]", tail):
            yield Candidate(function.unit, region.tail_start, region.tail_end, function, "assumed-device")
            return


def _asks_nobody(judgement: Judgement, function: Fn, above: frozenset[int]) -> bool:
    """Say whether all that a function calls is known, and nothing of it leaves the workspace."""
    if function.index in above:
        return True
    if not function.has_body:
        return False
    below = above | {function.index}
    for call in function.facts.calls:
        if call.kind == CallKind.MACRO and call.name == "cfg":
            continue
        callees = judgement.summaries.resolver.resolve(function, call)
        if not callees or not all(_asks_nobody(judgement, one, below) for one in callees):
            return False
    return True


def unmeasured_times(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield numbers in place of a time between two events of the device that could not be measured."""
    for call in function.facts.calls:
        if "elapsed" not in call.name.lower() or call.kind == CallKind.MACRO:
            continue
        if not judgement.summaries.resolver.arguments(function, call):
            # A clock of the host needs no second event, and does not fail.
            continue
        default = _DEFAULT.match(function.text(call.end, function.facts.body_end))
        if default is not None:
            end = call.end + len(default[0].encode())
            yield Candidate(function.unit, call.start, end, function, "unmeasured-time")
        for region in function.facts.regions:
            pattern = function.text(region.pattern_start, region.pattern_end).strip()
            if (
                region.kind == RegionKind.ARM
                and (region.condition_start, region.condition_end) == (call.start, call.end)
                and _FAILED.match(pattern)
                and re.fullmatch(_NUMBER, function.text(region.tail_start, region.tail_end))
            ):
                yield Candidate(function.unit, region.pattern_start, region.end, function, "unmeasured-time")


def unmeasured_memory(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield numbers in place of the device's memory where the driver has told none."""
    for call in function.facts.calls:
        if call.kind == CallKind.MACRO or not _MEMORY.search(call.name):
            continue
        default = _DEFAULTS.match(function.text(call.end, function.facts.body_end))
        if default is not None and judgement.is_gpu_located(function):
            end = call.end + len(default[0].encode())
            yield Candidate(function.unit, call.start, end, function, "unmeasured-memory")


def _ignores_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function of GPU code is given a device or its data, and looks at neither."""
    if not judgement.is_gpu_located(function) or not function.facts.visibility or function.facts.lets:
        return False
    names = judgement.summaries.operands.names_device_type
    devices = frozenset(judgement.profile.tests.constructors)
    given = [
        one.name
        for one in function.facts.parameters
        if names(one.type) or not devices.isdisjoint(re.findall(r"\w+", one.type))
    ]
    return bool(given) and all(name.startswith("_") for name in given)


def waits_instead(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield a sleep that stands where GPU code should work: once, in a function that never launches."""
    if not judgement.is_gpu_located(function) or function.index in judgement.summaries.launching:
        return
    if _WAITS.search(function.name):
        return
    for call in function.facts.calls:
        if call.name == "sleep" and call.kind in (CallKind.PATH, CallKind.PLAIN) and call.region == 0:
            yield Candidate(function.unit, call.start, call.end, function, "sleep-as-kernel")


def branches_that_may_lie(function: Fn) -> tuple[int, ...]:
    """Return the branches that their own text lets `lying_arm` and `skipped_device` through to."""
    told: dict[Fn, tuple[int, ...]] = function.unit.told_once(branches_that_may_lie, lambda _: {})
    found = told.get(function)
    if found is None:
        found = told[function] = tuple(
            index
            for index, region in enumerate(function.facts.regions)
            if (region.kind == RegionKind.ARM and _may_lie(function, region))
            or (region.kind == RegionKind.THEN and _does_nothing(function, index))
        )
    return found


def _may_lie(function: Fn, region: Region) -> bool:
    data, start, end = function.unit.data, region.tail_start, region.tail_end
    # Most arms have none of the words that the forms can't do without.
    if not data.startswith((b"Ok", b"return"), start) and all(
        data.find(word, start, end) < 0 for word in _BLANKS
    ):
        return False
    tail = function.text(region.tail_start, region.tail_end)
    return any(form.match(tail) for form in (_SUCCESS, _BLANK, _SAME_INPUT))


def _does_nothing(function: Fn, index: int) -> bool:
    """Say whether a branch leaves the function once, with a success of nothing."""
    exits = [one for one in function.facts.exits if one.region == index and one.kind == ExitKind.RETURN]
    return len(exits) == 1 and bool(_NOTHING_DONE.match(function.text(exits[0].start, exits[0].end)))


def lying_arm(judgement: Judgement, function: Fn, index: int, region: Region) -> Iterator[Candidate]:
    """Yield the arm if it answers a failure, or the device, with a success that nobody computed."""
    pattern = function.text(region.pattern_start, region.pattern_end).strip()
    tail = function.text(region.tail_start, region.tail_end)
    if _DROPPED_ERROR.match(pattern) and _SUCCESS.match(tail):
        if _is_device_operation(judgement, function, region):
            yield Candidate(
                function.unit, region.pattern_start, region.end, function, "error-becomes-success"
            )
    elif _BLANK.match(tail) and _has_failed(judgement, function, index):
        yield Candidate(function.unit, region.pattern_start, region.end, function, "blank-on-failure")
    elif pattern == "_" and _SAME_INPUT.match(tail) and _matches_devices(judgement, function, region):
        yield Candidate(function.unit, region.pattern_start, region.end, function, "input-handed-back")


def _has_failed(judgement: Judgement, function: Fn, index: int) -> bool:
    """Say whether an arm is taken because something on the device did not work."""
    tests = judgement.summaries.flow(function).tests_into(index)
    return any(judgement.paths.is_failed_attempt(function, test) for test in tests)


def _is_device_operation(judgement: Judgement, function: Fn, region: Region) -> bool:
    """Say whether a match looks at the outcome of an operation that reaches or refuses the device."""
    summaries = judgement.summaries
    for call in function.facts.calls:
        if region.condition_start <= call.start and call.end == region.condition_end:
            if summaries.is_launch(function, call):
                return True
            callees = summaries.resolver.resolve(function, call)
            return any(
                one.index in summaries.launching or one.index in summaries.rejecting for one in callees
            )
    return False


def _matches_devices(judgement: Judgement, function: Fn, region: Region) -> bool:
    arms = [
        function.text(other.pattern_start, other.pattern_end)
        for other in function.facts.regions
        if other.kind == RegionKind.ARM and other.group_start == region.group_start
    ]
    return any(judgement.summaries.tests.mentions_device(pattern) for pattern in arms)


def skipped_device(judgement: Judgement, function: Fn, index: int, region: Region) -> Iterator[Candidate]:
    """Yield branches for the device in which nothing happens but a successful return."""
    if not _does_nothing(function, index):
        return
    flow = judgement.summaries.flow(function)
    calls = [call for call in function.facts.calls if call.region == index]
    is_transfer = function.name in judgement.profile.transfer.transfer_apis
    if len(calls) == 1 and not is_transfer and flow.place(flow.entering(index)) is Place.DEVICE:
        yield Candidate(function.unit, region.group_start, region.condition_end, function, "device-skipped")

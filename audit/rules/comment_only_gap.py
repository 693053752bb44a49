"""FT014: comment-only-gap."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.gap_examples import INVALID, VALID
from audit.scanner.extract.facts import RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.comments import CommentBlock, blocks_of, function_at, span_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level

_HOST = r"(?:\bcpu\b|\bhost\b|\binterpreter\b)"
_FAILING = r"\bmissing\b|\bfail\w*|\bunsupported\b|\bdeclines?\b|\berrors?\b"
_WHEN = rf"(?:\bfor\b|\bwhen\b|\bif\b|{_FAILING}|\bnon-)"
_FALLING = r"(?:\bfall(?:s|ing)?[ -]?(?:back|through)\b|\bfallback\b)"
_MOVED = r"(?![\s-]*(?:round|cop(?:y|ies)|transfer|sync))"
# What no input of the device does is denied, and nothing is lacking.
_DOES = (
    r"(?!\s+(?:inputs?|operands?|tensors?|data)\s+"
    r"(?:returns?|is|are|goes|go|leaves?|falls?|reach(?:es)?|comes?|gets?)\b)"
)
_DEVICE = r"(?:\bgpu\b|\bcuda\b|\bdevice\b|\bkernels?\b)"
_LACKS = r"(?:\bno\b|\bwithout\b|\blacks?\b|\bnot (?:yet )?(?:supported|implemented|available)\b|\bmissing\b)"
_CASES = r"(?:\b(?:ranks?|dtypes?|shapes?|layouts?|inputs?|views?|tensors?|targets?|sizes?|cases?)\b)"
_GOES = r"(?:\b(?:go|goes|run|runs|is|are|take|takes|stay|stays|routes?|routed)\b)"
# A case that the host only notices is not computed there.
_NOTICED = r"(?!\s*(?:detected|checked|validated|counted|known|decided)\b)"
# Where data lies is not where it is computed.
_KEPT = r"(?![\s-]*(?:resident|owned)\b)"
# A heading (`CPU fallback`) says nothing yet: the case in which it happens is the gap.
_CASE_AND_HOST = re.compile(rf"(?i)(?=.*{_HOST})(?=.*{_WHEN})")
_NAMES_HOST = re.compile(rf"(?i){_HOST}")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_FALLS = re.compile(rf"(?i){_FALLING}")
_DENIED = re.compile(
    r"(?i)\b(?:instead of|rather than|without|never|not|no|no longer|cannot|can't)\s+"
    r"(?:(?:an?|any|the|silent|hidden|implicit|automatic|cpu|host|\w+ly)[\s-]+){0,4}$"
)
# What would happen does not, and what is on the device is no host.
_UNREAL = re.compile(
    r"(?i)[^.;]{0,60}\b(?:(?:is|are|was|were)\s+(?:\w+\s+)?"
    r"(?:unreachable|impossible|gone|removed|dead|never (?:taken|reached))|would)\b"
)
_TO_DEVICE = re.compile(
    rf"(?i)\s+(?:to|onto|on|through)\s+(?:(?!{_HOST})[^.;,]){{0,40}}\b(?:gpu|cuda|device)\b(?![\s-]to[\s-])"
)
_LACKED = re.compile(
    rf"(?i)(?:{_LACKS}(?!\s+(?:cpu|host))[^.!;()]{{0,30}}{_DEVICE}{_MOVED}{_DOES}"
    rf"|{_DEVICE}[^.!;()]{{0,30}}{_LACKS}(?!\s+(?:cpu|host)))[^.!;()]{{0,60}}{_HOST}"
)
_GAPS = (
    re.compile(r"(?i)\b(?:gpu|cuda|device)\b[^.]{0,60}\bnot (?:yet )?(?:implemented|supported)"),
    re.compile(rf"(?i){_CASES}[^.!;]{{0,20}}{_GOES}{_NOTICED}[^.!;]{{0,30}}{_HOST}{_KEPT}"),
    re.compile(rf"(?i){_DEVICE}[^.!;]{{0,30}}{_HOST}[^.!;]{{0,20}}\b(?:runs|executes|evaluates)\b"),
)
# What is no GPU falls back to nothing: the host is its device.
_NO_GPU = re.compile(r"(?i)\b(?:non-|no |not )(?:gpu|cuda|metal|accelerat)")
# What ran out or broke down is no case that a caller could ask about beforehand.
_BREAKS_DOWN = re.compile(
    r"(?i)\b(?:alloc\w*|memory|oom|launch(?:es)?|transfers?|uploads?|copy|copies)\b[^.;]{0,20}"
    r"\b(?:fail\w*|errors?)\b"
)
# Data that is made on the host and uploaded: nothing of the device is computed there.
_BUILT = re.compile(rf"(?i){_HOST}[\s-]*(?:side\s+)?(?:builds?|built|alloc\w*|construct\w*|fills?|init\w*)\b")
_SUBJECTS = (b"cpu", b"host", b"interpreter", b"implemented", b"supported")
_SUBJECT = re.compile(rb"(?i)cpu|host|interpreter|not (?:yet )?(?:implemented|supported)")
_REFUSES = re.compile(
    r"(?i)\b(?:error(?:s|ed)? out|refus|reject|returns? an? (?:structured )?error"
    r"|structured [`'\"]?err(?:or)?\b)"
    r"|\bnever (?:silently )?(?:degrades?|falls?)\b"
)


class CommentOnlyGap(Rule):
    """
    ## What it does
    Checks for comments in dispatch code that say for which case the device is left, where the code beside
    them does leave it and no query tells a caller so.

    ## Why is this bad?
    A caller can't branch on a comment. PyTorch's dispatcher answers for each operator and backend whether a
    kernel is registered.

    ## Use instead
    A capability query (`DeviceCapabilities`) that the caller asks before dispatching, and a structured error
    in the operator.

    ## Known problems
    What a module's documentation says is not held against its functions. A comment whose code refuses device
    tensors is stale, and no result.
    """

    id = "FT014"
    name = "comment-only-gap"
    level = Level.NOTE
    message = "states a capability gap in a comment only"
    follows_device_data = True
    invalid = INVALID
    valid = VALID

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the first comment of a function that states a gap the function has."""
        gate = any_pattern(judgement.profile.gate.environment_patterns)
        # What a comment says of the line below it is told there.
        told = {
            (one.function.index, one.function.unit.line(one.start)) for one in judgement.stand_ins_on_failure
        }
        by_path: dict[str, list[Fn]] = {}
        for function in judgement.product_functions:
            by_path.setdefault(function.unit.path, []).append(function)
        for path, functions in by_path.items():
            if not any(_reads_openly(judgement, function) for function in functions):
                continue
            seen: set[int] = set()
            documented: set[int] = set()
            found: list[tuple[Fn, CommentBlock, int]] = []
            for block in blocks_of(judgement.workspace.units[path], _SUBJECTS):
                if not _SUBJECT.search(block.unit.data, block.start, block.end):
                    continue
                if block.is_module_doc or _REFUSES.search(block.text):
                    continue
                holder = function_at(functions, block)
                if holder is None or holder.index in seen or (holder.index, block.last_line + 1) in told:
                    continue
                gap = _gap(block.text, in_gpu_code=judgement.is_gpu_located(holder))
                if gap is None or not _has_gap(judgement, holder) or _is_asked_for(holder, block, gate):
                    continue
                seen.add(holder.index)
                if block.is_doc:
                    documented.add(holder.index)
                found.append((holder, block, gap))
            for holder, block, gap in found:
                if not (block.is_doc and _is_told_by_callers(judgement, holder, documented)):
                    form = "doc-gap" if block.is_doc else "gap-comment"
                    start, end = span_of(block, gap)
                    yield Candidate(block.unit, start, end, holder, form, guard=block.text)
        yield from _gaps_of_types(judgement)


def _gaps_of_types(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the documentation of types that says what their functions do: hand a target to the host."""
    handing = {
        (one.function.unit.path, one.function.self_type) for one in judgement.paths.stand_ins.for_all_targets
    }
    for path in sorted({path for path, _ in handing}):
        unit = judgement.workspace.units[path]
        items = {item.start: item.name for item in unit.facts.items if (path, item.name) in handing}
        for block in blocks_of(unit):
            name = next((items[start] for start in items if _documents(unit, block, start)), "")
            gap = _gap(block.text, in_gpu_code=False) if name and block.is_doc else None
            if gap is not None:
                start, end = span_of(block, gap)
                symbol = "::".join(part for part in (unit.crate_name, *unit.module, name) if part)
                yield Candidate(unit, start, end, None, "doc-gap", guard=block.text, item=symbol)


def _documents(unit: Unit, block: CommentBlock, start: int) -> bool:
    """Say whether nothing but attributes stands between a comment and an item."""
    between = unit.text(block.end, start) if block.end <= start else "none"
    return not re.sub(r"#\[[^\]]*\]", "", between).strip()


def _gap(text: str, *, in_gpu_code: bool) -> int | None:
    """Return where a text says that some case is left to the host; None when it does not.

    In GPU code a comment on its fallback tells what the code beside it does: only what is lacking counts.
    """
    lacked = _LACKED.search(text)
    if lacked is not None or in_gpu_code:
        return lacked.end() - 1 if lacked is not None else None
    if _CASE_AND_HOST.match(text):
        falls = next((one for one in _FALLS.finditer(text) if not _is_denied(text, one)), None)
        if falls is not None and _says_where(text, falls.start()) and not _NO_GPU.search(text):
            start, stop = _sentence(text, falls.start())
            is_gap = not _BREAKS_DOWN.search(text, start, stop) and not _BUILT.search(
                text, falls.start(), stop
            )
            return falls.start() if is_gap else None
    found = (gap.search(text) for gap in _GAPS)
    return next((one.end() - 1 for one in found if one is not None), None)


def _is_denied(text: str, falls: re.Match[str]) -> bool:
    """Say whether a fallback that a text speaks of does not happen, or does not leave the device."""
    stop = _sentence(text, falls.start())[1]
    return bool(
        _DENIED.search(text, 0, falls.start())
        or _UNREAL.match(text, falls.end(), stop)
        or _TO_DEVICE.match(text, falls.end(), stop)
    )


def _says_where(text: str, offset: int) -> bool:
    """Say whether the sentence at an offset, or the heading of its text, names the host."""
    start, stop = _sentence(text, offset)
    return bool(_NAMES_HOST.search(text, start, stop) or _NAMES_HOST.search(text, 0, _sentence(text, 0)[1]))


def _sentence(text: str, offset: int) -> tuple[int, int]:
    """Return the span of the sentence at an offset."""
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    return max(end for end in ends if end <= offset), min(end for end in ends if end > offset)


def _is_told_by_callers(judgement: Judgement, function: Fn, documented: set[int]) -> bool:
    """Say whether a private function's documentation repeats that of all who call it: one gap, told once."""
    if function.facts.visibility:
        return False
    callers = {one.index for one, _ in judgement.summaries.callers(function) if one.is_product_code}
    return bool(callers) and callers <= documented


def _has_gap(judgement: Judgement, function: Fn) -> bool:
    if judgement.is_gpu_located(function) and function.index in judgement.summaries.launching:
        return False
    return _leaves_the_device(judgement, function)


def _leaves_the_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function, or one that it hands its data to, reads device data on the host unpardoned."""
    reads = judgement.summaries.reads
    if any(not (read.pardon or read.is_copy) for read in reads.get(function.index, ())):
        return True
    for call in function.facts.calls:
        for callee in judgement.summaries.resolver.resolve(function, call):
            if callee is not function and callee.unit is function.unit and _reads_openly(judgement, callee):
                return True
    return False


def _is_asked_for(function: Fn, block: CommentBlock, gate: re.Pattern[str]) -> bool:
    """Say whether a comment names the opt-in, or stands in the branch of who opted in."""
    return gate.search(block.text) is not None or any(
        region.kind == RegionKind.THEN
        and region.start <= block.start < region.end
        and gate.search(function.text(region.condition_start, region.condition_end)) is not None
        for region in function.facts.regions
    )


def _reads_openly(judgement: Judgement, callee: Fn) -> bool:
    return any(not read.pardon for read in judgement.summaries.reads.get(callee.index, ()))

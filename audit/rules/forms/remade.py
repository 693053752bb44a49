"""Operands that are computed on the host beside a kernel, and uploaded on every call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.scanner.extract.facts import Call, RegionKind
from audit.scanner.judge import Candidate, Judgement, Step
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn

_LIST = re.compile(r"^\W*(?:\w*Result<\s*)?Vec<\s*(?:[A-Z]|[fui]\d+|bf16|f16)\b")
_GIVES_DATA = re.compile(r"\[|\bVec\b|\bIter")
_NAME = re.compile(r"\b[a-z_]\w*\b")


def operands_made_on_host(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the calls that compute a whole operand from numbers, on a branch whose kernel has run."""
    summaries = judgement.summaries
    for name in sorted(judgement.profile.uploads):
        for function, upload in summaries.graph.calls_by_name.get(name, ()):
            if (
                function.index in summaries.launching
                and summaries.graph.is_examined(function)
                and summaries.place_at(function, upload) is Place.DEVICE
                and not summaries.pardon(function, upload)
            ):
                made = _made(judgement, function, upload)
                if made is not None and _launches_before(judgement, function, made[0]):
                    yield _candidate(function, upload, *made)


def _made(judgement: Judgement, function: Fn, upload: Call) -> tuple[Call, Fn] | None:
    """Return the call whose list becomes what is uploaded, and what is called."""
    flow = judgement.summaries.flow(function)
    names = _NAME.findall(function.text(upload.start, upload.end))
    values = [value for one in names if (value := flow.value_before(one, upload.start))]
    names += [inner for value in values for inner in _NAME.findall(value)]
    for call in function.facts.calls:
        if call.start >= upload.start or upload.region not in (call.region, *function.ancestors(call.region)):
            continue
        for let in function.facts.lets:
            bound = function.text(let.pattern_start, let.pattern_end)
            if let.value_start == call.start and bound in names:
                maker = next(filter(_computes, judgement.summaries.resolver.resolve(function, call)), None)
                if maker is not None and _works_alone(judgement, maker):
                    return call, maker
    return None


def _computes(function: Fn) -> bool:
    """Say whether a function makes a list element by element, from nothing but numbers."""
    facts = function.facts
    return (
        function.has_body
        and _LIST.match(facts.return_type) is not None
        and any(region.kind in (RegionKind.LOOP, RegionKind.CLOSURE) for region in facts.regions)
        and not any(_GIVES_DATA.search(parameter.type) for parameter in facts.parameters)
    )


def _works_alone(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function neither reads device data nor has it from a kernel."""
    summaries = judgement.summaries
    return (
        function.index not in summaries.launching
        and not summaries.reads.get(function.index)
        and not any(
            summaries.operands.names_device_type(parameter.type) for parameter in function.facts.parameters
        )
    )


def _launches_before(judgement: Judgement, function: Fn, made: Call) -> bool:
    around = (made.region, *function.ancestors(made.region))
    return any(
        call.start < made.start
        and call.region in around
        and (
            judgement.summaries.is_launch(function, call)
            or judgement.summaries.is_backend_operation(function, call)
        )
        for call in function.facts.calls
    )


def _candidate(function: Fn, upload: Call, made: Call, maker: Fn) -> Candidate:
    unit, symbol = function.unit, function.symbol
    steps = (
        Step("anchor", unit, made.start, made.end, symbol, f"`{maker.name}` computes an operand on the host"),
        Step("effect", unit, upload.start, upload.end, symbol, "and it is uploaded, on every call"),
    )
    cause = (unit.path, function.index, made.start)
    return Candidate(unit, made.start, made.end, function, "host-made-operand", cause=cause, steps=steps)

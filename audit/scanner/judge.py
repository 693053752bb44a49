"""Judge: let the rules look at a linked workspace, and make their candidates results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.fingerprint import fingerprints
from audit.scanner.identity import identity_of
from audit.scanner.link.flow import Test
from audit.scanner.link.orphans import Orphans
from audit.scanner.link.paths import HostPath, HostPaths
from audit.scanner.link.reach import Reach
from audit.scanner.link.stand_ins import StandIn
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile, any_pattern
from audit.scanner.ptx.kernels import Kernels, Rejection
from audit.scanner.report import NO_PROPERTIES, EvidenceStep, Level, Result, RuleRun, RuleStatus
from audit.scanner.suppression import suppressions_for

if TYPE_CHECKING:
    # Every rule imports this module: whoever imports it first must not get half of it.
    from audit.rules.base import Rule

# Of two rules that see the same cause, the first one here reports it.
PRECEDENCE = (
    "cfg-gated-stub",
    "fake-gpu-function",
    "autograd-cpu-detour",
    "ungated-warning",
    "dispatch-only-dispatch",
    "reference-punt",
    "shape-bypass",
    "silent-fallback",
    "host-readback",
)
_SNIPPET_LINES = 60
_GUARD_LINES = 4
_ORPHAN = "no module declares the file"


class Step(NamedTuple):
    """A step of evidence, before it is written out."""

    role: str
    unit: Unit
    start: int
    end: int
    symbol: str
    message: str


class Candidate(NamedTuple):
    """What a rule saw.

    `cause` makes candidates of different rules the same: only the most specific one becomes a result. `guard`
    is the text of the condition that leads here; it tells equal anchors in one function apart.
    """

    unit: Unit
    start: int
    end: int
    function: Fn | None
    form: str
    message: str = ""
    guard: str = ""
    cause: tuple[object, ...] = ()
    level: Level | None = None
    steps: tuple[Step, ...] = ()
    properties: Mapping[str, str] = NO_PROPERTIES
    item: str = ""

    @property
    def symbol(self) -> str:
        """The fully qualified name of what holds the result."""
        if self.item:
            return self.item
        if self.function is not None:
            return self.function.symbol
        return "::".join(part for part in (self.unit.crate_name, *self.unit.module) if part)


class Judgement:
    """What a rule may ask: the workspace, the summaries, the host paths, the profile."""

    def __init__(
        self,
        workspace: Workspace,
        summaries: Summaries,
        profile: Profile,
        kernels: Kernels,
        documents: Sequence[Unit] = (),
    ) -> None:
        self.workspace = workspace
        self.documents = documents
        self.summaries = summaries
        self.profile = profile
        self.kernels = kernels

    @cached_property
    def paths(self) -> HostPaths:
        """The host paths of the workspace."""
        return HostPaths(self.summaries)

    @cached_property
    def stand_ins_on_failure(self) -> tuple[StandIn, ...]:
        """Where the host answers because the device did not work, and nothing is read from the device."""
        return tuple(
            one for function in self.product_functions for one in self.paths.stand_ins.on_failure(function)
        )

    @cached_property
    def orphans(self) -> Orphans:
        """The files that no build compiles."""
        return Orphans(self.workspace)

    @cached_property
    def reach(self) -> Reach:
        """What the tests that open a device run."""
        return Reach(self.summaries)

    def functions_of(self, unit: Unit) -> list[Fn]:
        """Return the functions of a file."""
        return self._functions_by_path.get(unit.path, [])

    @cached_property
    def _functions_by_path(self) -> dict[str, list[Fn]]:
        found: dict[str, list[Fn]] = {}
        for function in self.workspace.functions:
            found.setdefault(function.unit.path, []).append(function)
        return found

    @cached_property
    def product_functions(self) -> tuple[Fn, ...]:
        """The functions with a body that users can reach and that a GPU build compiles."""
        return tuple(
            function
            for function in self.workspace.functions
            if function.has_body and function.is_product_code and not self.summaries.is_device_off(function)
        )

    def product_functions_where(self, key: object, may_be: Callable[[Fn], bool]) -> Iterator[Fn]:
        """Yield the product functions that a rule has to look at closely.

        `may_be` may ask a function's own text and nothing else: its answers are kept with the file, under
        `key`, from one commit to the next.
        """
        for unit in self.workspace.units.values():
            for function in unit.told_once(key, lambda unit: _product_functions(unit, may_be)):
                if not self.summaries.is_device_off(function):
                    yield function

    @cached_property
    def test_functions(self) -> tuple[Fn, ...]:
        """The functions that are tests."""
        return tuple(
            function for function in self.workspace.functions if function.is_test and function.has_body
        )

    def is_gpu_located(self, function: Fn) -> bool:
        """Say whether a function stands in GPU code, by its crate or its path."""
        return self.summaries.graph.is_gpu_located(function)

    def promises_device(self, function: Fn) -> bool:
        """Say whether a function is named or located as GPU code, and never reaches the device."""
        if function.index in self.summaries.launching:
            return False
        return self.is_gpu_located(function) or self.is_gpu_named(function)

    def is_gpu_named(self, function: Fn) -> bool:
        """Say whether a function's name says that it is GPU code."""
        return bool(self.gpu_name.search(function.name))

    @cached_property
    def gpu_name(self) -> re.Pattern[str]:
        """What tells names of GPU code."""
        return any_pattern(self.profile.gpu.function_patterns)

    def host_path_candidate(self, path: HostPath, form: str, message: str = "") -> Candidate:
        """Make a candidate of a host path, with its evidence."""
        first = path.reads[0]
        steps = [
            _call_step("anchor", path.function, first.call, f"`{first.operand}` is read on the host here")
        ]
        helper = first.helper
        seen: set[int] = set()
        while helper is not None and helper.index not in seen:
            seen.add(helper.index)
            inner = next(iter(self.summaries.reads.get(helper.index, ())), None)
            if inner is None:
                break
            role = "call" if inner.helper is not None else "effect"
            steps.append(_call_step(role, helper, inner.call, f"`{helper.name}` reads `{inner.operand}`"))
            helper = inner.helper
        if path.test is not None:
            start, end = _guard_span(path.function, path.test)
            steps.append(
                Step(
                    "guard",
                    path.function.unit,
                    start,
                    end,
                    path.function.symbol,
                    f"{'holds' if path.test.holds else 'does not hold'} on the way here",
                )
            )
        if path.upload is not None:
            steps.append(_call_step("effect", path.function, path.upload, "and the result is uploaded again"))
        return Candidate(
            unit=path.function.unit,
            start=path.start,
            end=path.end,
            function=path.function,
            form=form,
            message=message,
            guard=path.test.subject if path.test is not None else "",
            cause=path.cause,
            steps=tuple(steps),
        )


def stand_in_candidate(stand_in: StandIn, message: str = "") -> Candidate:
    """Make a candidate of host work that reads nothing from the device."""
    function = stand_in.function
    return Candidate(
        function.unit,
        stand_in.start,
        stand_in.end,
        function,
        stand_in.form,
        message=message,
        guard=stand_in.subject,
        cause=(function.unit.path, function.index, stand_in.start),
    )


def _product_functions(unit: Unit, may_be: Callable[[Fn], bool]) -> list[Fn]:
    return [
        function
        for function in unit.functions or ()
        if function.has_body and function.is_product_code and may_be(function)
    ]


def _guard_span(function: Fn, test: Test) -> tuple[int, int]:
    """Return where a person looks for a condition: all of it, or its first line when it has many."""
    region = function.facts.regions[test.region]
    start, end = region.condition_start, region.condition_end
    if not end:
        start, end = test.group, test.group + len(test.subject.encode())
    if function.unit.line(end - 1) - function.unit.line(start) < _GUARD_LINES:
        return start, end
    line_end = function.unit.data.find(b"\n", start)
    return start, len(function.unit.data[:line_end].rstrip())


def _call_step(role: str, function: Fn, call: Call, message: str) -> Step:
    return Step(role, function.unit, call.start, call.end, function.symbol, message)


def judge(
    judgement: Judgement, rules: Sequence[Rule], seen: Sequence[Sequence[Candidate]]
) -> tuple[tuple[Result, ...], tuple[RuleRun, ...]]:
    """Return the results of rules, one for each cause, in a stable order; `seen` is what each has seen."""
    found: list[tuple[Rule, Candidate]] = []
    runs = []
    for rule, candidates in zip(rules, seen, strict=True):
        found += [(rule, candidate) for candidate in candidates]
        reason = rule.not_run_reason(judgement)
        if reason:
            runs.append(RuleRun(rule.id, RuleStatus.NOT_RUN, reason))
        else:
            runs.append(RuleRun(rule.id, RuleStatus.RAN, rule.narrowed_reason(judgement)))
    ordered = sorted(
        _with_rejected_kernels(judgement, rules, _one_per_cause(found)),
        key=lambda pair: (pair[1].unit.path, pair[1].start, pair[1].end, pair[0].id),
    )
    prints = fingerprints([identity_of(rule, candidate) for rule, candidate in ordered])
    results = [
        _result(judgement, rule, candidate, partial)
        for (rule, candidate), partial in zip(ordered, prints, strict=True)
    ]
    results.sort(
        key=lambda result: (
            result.path,
            result.region.start_line,
            result.region.start_column,
            result.rule_id,
        )
    )
    return tuple(results), tuple(runs)


def _one_per_cause(found: Iterable[tuple[Rule, Candidate]]) -> Iterator[tuple[Rule, Candidate]]:
    rank = {name: index for index, name in enumerate(PRECEDENCE)}
    best: dict[tuple[object, ...], tuple[Rule, Candidate]] = {}
    for rule, candidate in found:
        if not candidate.cause or rule.name not in rank:
            yield rule, candidate
            continue
        other = best.get(candidate.cause)
        if other is None or rank[rule.name] < rank[other[0].name]:
            best[candidate.cause] = (rule, candidate)
    yield from best.values()


def _with_rejected_kernels(
    judgement: Judgement, rules: Sequence[Rule], found: Iterable[tuple[Rule, Candidate]]
) -> Iterator[tuple[Rule, Candidate]]:
    """Say of a host path whose kernel does not assemble that it may be the only path.

    Only what a real driver answered can say that it is.
    """
    is_asked = any(rule.needs_assembler for rule in rules)
    for rule, candidate in found:
        rejection = None
        if is_asked and candidate.function is not None and rule.name in PRECEDENCE:
            rejection = judgement.kernels.rejected_in(candidate.function)
        if rejection is None:
            yield rule, candidate
            continue
        yield rule, _with_rejected_kernel(judgement, rule, candidate, rejection)


def _with_rejected_kernel(
    judgement: Judgement, rule: Rule, candidate: Candidate, rejection: Rejection
) -> Candidate:
    version = judgement.kernels.assembler_version
    kernel = rejection.text.name or "derived PTX"
    who, where = f"ptxas {version} rejects", rejection.targets
    how = "this path may be the only one"
    properties = {"rejectedKernel": kernel, "ptxas": version}
    if rejection.refusal is not None:
        who, where = "the driver refuses", rejection.refusal.machine
        how = "this path is always taken"
        properties |= {"driver": rejection.refusal.driver, "device": rejection.refusal.device}
    return candidate._replace(
        message=f"{candidate.message or rule.message}; {who} its kernel ({kernel}, {where}): {how}",
        properties={**candidate.properties, **properties},
    )


def _result(judgement: Judgement, rule: Rule, candidate: Candidate, partial: Mapping[str, str]) -> Result:
    message, properties = candidate.message or rule.message, candidate.properties
    if judgement.orphans.has(candidate.unit):
        message, properties = f"{message}; {_ORPHAN}", {**properties, "outsideModules": _ORPHAN}
    package = candidate.unit.package
    snippet = candidate.unit.lines(candidate.start, candidate.end).split("\n")[:_SNIPPET_LINES]
    region = candidate.unit.region(candidate.start, candidate.end)
    return Result(
        rule_id=rule.id,
        level=candidate.level or rule.level,
        message=message,
        path=candidate.unit.path,
        region=region,
        symbol=candidate.symbol,
        crate=package.name if package is not None else "",
        form=candidate.form,
        partial_fingerprints=partial,
        evidence=tuple(
            EvidenceStep(
                step.role,
                step.unit.path,
                step.unit.region(step.start, step.end),
                step.symbol,
                step.message,
            )
            for step in candidate.steps
        ),
        snippet="\n".join(snippet),
        suppressions=suppressions_for(rule.id, rule.name, region.start_line, candidate.unit.allowances),
        properties=properties,
    )

"""The policy's mechanical checks, 4a to 4e, of functions: from the code, and from what GPU runs showed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from audit.scanner.cache import FactsCache
from audit.scanner.errors import ScanError
from audit.scanner.judge import Judgement
from audit.scanner.link.unit import Fn
from audit.scanner.outcome.standing import Standing
from audit.scanner.pipeline import scan
from audit.scanner.profile import Profile
from audit.scanner.proof.reaching import Proofs, ReachingTest
from audit.scanner.source.base import Source

_STUB = re.compile(r"\b(?:todo|unimplemented|unreachable)!|\bpanic!\s*\(\s*\"not|//[^\n]*\b(?:TODO|FIXME)\b")
# What makes a launch ready and is none yet.
_PREPARES = re.compile(r"_builder$|^begin_")
_SHOWN = 12
_MAX_FUNCTIONS = 200
_MAX_RUN = 400


@dataclass(frozen=True, slots=True)
class TestWord:
    """The last word of a GPU run on a test."""

    __test__ = False

    verdict: str
    is_proof: bool
    passes_without_gpu: bool | None = None
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code, with the function that it stands in."""

    path: str
    line: int
    symbol: str
    text: str


@dataclass(frozen=True, slots=True)
class Detour:
    """A read of what may be device data, and what makes it legal; empty where nothing does."""

    at: Line
    justification: str


@dataclass(frozen=True, slots=True)
class ToldTest:
    """A test that reaches the function, and what a run of it showed, if one did."""

    test: ReachingTest
    word: TestWord | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the hostile reviewer's questions, answered from data; `is_strong` where it holds."""

    question: str
    answer: str
    is_strong: bool


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """The checks of one function. What is capped says how many there are in all.

    `launches` are the lines that launch, before those that only compile or prepare. `refusal` is where a
    function that launches nothing returns a structured error instead: that is the policy's answer too, and
    its own tests are all that is asked of it.
    """

    symbol: str
    path: str
    line: int
    claims_gpu: bool
    refusal: Line | None
    kernels: tuple[str, ...]
    families: tuple[str, ...]
    launches: tuple[Line, ...]
    launch_count: int
    detours: tuple[Detour, ...]
    open_detours: int
    stubs: tuple[Line, ...]
    stub_count: int
    tests: tuple[ToldTest, ...]
    test_count: int
    device_test_count: int
    answers: tuple[Answer, ...]

    @property
    def failed_checks(self) -> tuple[str, ...]:
        """The checks of the policy that do not hold for a function that claims the GPU."""
        if not self.claims_gpu:
            return ()
        failing = {
            "4a": not self.launches and self.refusal is None,
            "4b": self.open_detours > 0,
            "4c": self.stub_count > 0,
            "4d": self.device_test_count == 0,
            "4e": self.refusal is None and not all(answer.is_strong for answer in self.answers),
        }
        return tuple(check for check, fails in failing.items() if fails)


@dataclass(frozen=True, slots=True)
class MechanicalReport:
    """The checks of a function, a diff or a range of commits; those that claim the GPU come first.

    `left_out` of them were not looked at.
    """

    subject: str
    commit: str
    since: str
    functions: tuple[FunctionReport, ...]
    left_out: int = 0
    has_runs: bool = False

    @property
    def is_done(self) -> bool:
        """Whether every check holds for every function: only then may one say that it is done."""
        return not self.left_out and not any(function.failed_checks for function in self.functions)


def as_document(report: MechanicalReport) -> dict[str, Any]:
    """Give a report as what JSON holds, with the checks that do not hold."""
    document = asdict(report)
    for function, told in zip(report.functions, document["functions"], strict=True):
        told["failed_checks"] = list(function.failed_checks)
    return document | {"is_done": report.is_done}


@dataclass(slots=True)
class _Gathered:
    reports: list[FunctionReport] = field(default_factory=list)
    left_out: int = 0


def report_function(
    source: Source,
    symbol: str,
    *,
    profile: Profile,
    cache: FactsCache | None = None,
    words: Mapping[tuple[str, str, str], TestWord] | None = None,
    commit: str = "",
) -> MechanicalReport:
    """Report on the functions of a name at a commit."""

    def chosen(proofs: Proofs, judgement: Judgement) -> list[Fn]:
        found = proofs.named(symbol)
        # Of two of a name, the one that only a build without a GPU has is not meant, unless it is alone.
        return [one for one in found if not judgement.summaries.is_device_off(one)] or found

    gathered = _gather(source, chosen, profile, cache, words or {})
    return MechanicalReport(
        symbol, commit, "", tuple(gathered.reports), gathered.left_out, has_runs=words is not None
    )


def report_changes(
    before: Source,
    after: Source,
    *,
    profile: Profile,
    cache: FactsCache | None = None,
    words: Mapping[tuple[str, str, str], TestWord] | None = None,
    commit: str = "",
    since: str = "",
) -> MechanicalReport:
    """Report on the product functions that changed from one commit to another and have to do with the GPU."""
    known: dict[str, frozenset[str]] = {}

    def learn(judgement: Judgement) -> None:
        known.update(Proofs(judgement).own_digests())

    try:
        scan(before, profile=profile, rules=(), cache=cache, observe=learn)
    except ScanError as error:
        if "no Rust file" not in str(error):
            raise
        # A change that brings the first Rust file: all it holds is new.

    def chosen(proofs: Proofs, judgement: Judgement) -> list[Fn]:
        digests = proofs.own_digests()
        changed = {symbol for symbol, found in digests.items() if found != known.get(symbol)}
        return [
            function
            for function in judgement.product_functions
            if function.symbol in changed and _is_about_gpu(judgement, function)
        ]

    gathered = _gather(after, chosen, profile, cache, words or {})
    return MechanicalReport(
        f"{since}..{commit}" if since else "changes",
        commit,
        since,
        tuple(gathered.reports),
        gathered.left_out,
        has_runs=words is not None,
    )


def _gather(
    source: Source,
    chosen: Callable[[Proofs, Judgement], list[Fn]],
    profile: Profile,
    cache: FactsCache | None,
    words: Mapping[tuple[str, str, str], TestWord],
) -> _Gathered:
    gathered = _Gathered()

    def observe(judgement: Judgement) -> None:
        proofs = Proofs(judgement)
        functions = sorted(chosen(proofs, judgement), key=lambda one: not _claims_gpu(judgement, one))
        gathered.left_out = max(0, len(functions) - _MAX_FUNCTIONS)
        standing = Standing(judgement)
        gathered.reports = [
            _report(judgement, proofs, standing, one, words) for one in functions[:_MAX_FUNCTIONS]
        ]

    scan(source, profile=profile, rules=(), cache=cache, observe=observe)
    return gathered


def _is_about_gpu(judgement: Judgement, function: Fn) -> bool:
    summaries = judgement.summaries
    return (
        _claims_gpu(judgement, function)
        or function.index in summaries.launching
        or function.index in summaries.reads
    )


def _claims_gpu(judgement: Judgement, function: Fn) -> bool:
    return judgement.is_gpu_located(function) or judgement.is_gpu_named(function)


def _report(
    judgement: Judgement,
    proofs: Proofs,
    standing: Standing,
    function: Fn,
    words: Mapping[tuple[str, str, str], TestWord],
) -> FunctionReport:
    run = proofs.run_by(function)[:_MAX_RUN]
    launches = _launches(judgement, run)
    detours = list(_detours(judgement, run))
    stubs = list(_stubs(run))
    told = [
        ToldTest(test, words.get((test.crate, test.binary, test.name))) for test in proofs.tests_of(function)
    ]
    launched = proofs.launched(function)
    refusal = standing.refusal(function) if not launches else None
    device_tests = [one for one in told if _can_prove(one.test)]
    return FunctionReport(
        symbol=function.symbol,
        path=function.unit.path,
        line=function.line,
        claims_gpu=_claims_gpu(judgement, function),
        refusal=_line(refusal.function, refusal.call.name_start) if refusal is not None else None,
        kernels=launched.kernels,
        families=launched.families,
        launches=tuple(launches[:_SHOWN]),
        launch_count=len(launches),
        detours=tuple(detours[:_SHOWN]),
        open_detours=sum(1 for detour in detours if not detour.justification),
        stubs=tuple(stubs[:_SHOWN]),
        stub_count=len(stubs),
        tests=tuple(told[:_SHOWN]),
        test_count=len(told),
        device_test_count=len(device_tests),
        answers=tuple(_answers(judgement, function, launches, launched.kernels, device_tests)),
    )


def _launches(judgement: Judgement, run: Iterable[Fn]) -> list[Line]:
    """List the lines that put work on the device, the nearest first, and then those that prepare it."""
    found: tuple[list[Line], list[Line]] = ([], [])
    for function in run:
        for call in function.facts.calls:
            if judgement.summaries.is_launch(function, call):
                prepares = call.name in judgement.profile.launch.compile_calls or _PREPARES.search(call.name)
                found[bool(prepares)].append(_line(function, call.name_start))
    return [*found[False], *found[True]]


def _detours(judgement: Judgement, run: Iterable[Fn]) -> Iterator[Detour]:
    for function in run:
        for read in judgement.summaries.reads.get(function.index, ()):
            yield Detour(_line(function, read.call.name_start), read.pardon)


def _stubs(run: Iterable[Fn]) -> Iterator[Line]:
    for function in run:
        text = function.unit.data[function.facts.body_start : function.facts.body_end].decode("latin-1")
        for found in _STUB.finditer(text):
            yield _line(function, function.facts.body_start + found.start())


def _line(function: Fn, offset: int) -> Line:
    unit = function.unit
    text = unit.lines(offset, offset + 1).strip()
    return Line(unit.path, unit.line(offset), function.symbol, text[:160])


def _can_prove(test: ReachingTest) -> bool:
    return test.opens_device and not test.is_ignored and not test.is_dead


def _answers(
    judgement: Judgement,
    function: Fn,
    launches: list[Line],
    kernels: tuple[str, ...],
    device_tests: list[ToldTest],
) -> Iterator[Answer]:
    """Answer the five questions of 4e, each from what is known and nothing else."""
    yield Answer(
        "Where is the kernel?",
        f"{_few(kernels)}." if kernels else "No kernel is named in the function or what it calls.",
        bool(kernels) or bool(launches),
    )
    first = launches[0] if launches else None
    yield Answer(
        "Show me the line that launches a GPU compute pipeline.",
        f"{first.path}:{first.line}: `{first.text}`" if first else "There is none.",
        first is not None,
    )
    needing = [one for one in device_tests if one.word is not None and one.word.passes_without_gpu is False]
    unseen = [one for one in device_tests if one.word is None]
    if needing:
        said = f"{needing[0].test.name} fails with every GPU hidden."
    elif unseen:
        said = f"{unseen[0].test.name} opens a device; no run has shown that it fails without one."
    else:
        said = "No test is known to fail without a GPU."
    yield Answer("Show me the test that fails on a CPU-only build.", said, bool(needing))
    kept = _device_operands(judgement, function)
    yield Answer(
        "Show me where the data lives in VRAM.",
        f"In its signature: {_few(kept)}." if kept else "Its signature names no device buffer.",
        bool(kept) or bool(launches),
    )
    passing = [one for one in device_tests if one.word is not None and one.word.passes_without_gpu]
    proved = [one for one in device_tests if one.word is not None and one.word.is_proof]
    if passing:
        names = _few([one.test.name for one in passing])
        said = f"{len(passing)} of its tests pass there too: {names}. They test something else."
    elif needing:
        said = f"No: of {len(device_tests)} tests none that was run passes there; {len(proved)} proved it."
    else:
        said = "Not known: no test that reaches it was run with the GPU hidden."
    yield Answer(
        "On a machine with no GPU, does the test pass, and if so, what is it testing?",
        said,
        bool(needing) and not passing,
    )


def _device_operands(judgement: Judgement, function: Fn) -> list[str]:
    """Return the types in a function's signature that live on a device."""
    device = judgement.profile.device
    names = (*device.buffer_types, *device.storage_types, *device.tensor_types)
    signature = function.text(function.facts.name_start, function.facts.body_start)
    return sorted({name for name in names if re.search(rf"\b{re.escape(name)}\b", signature)})


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in listed[:_SHOWN]) + more

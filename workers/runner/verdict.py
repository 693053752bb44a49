"""Judges a test from its evidence. Pure: the same evidence gives the same verdict, on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workers.protocol.evidence import CanaryReading, Ending, RunRecord, TestEvidence, TracedRun
from workers.protocol.job import Expect, Expectation, KernelFamily, TestSpec
from workers.protocol.outcome import Judgement, Verdict
from workers.runner.device_work import DeviceWork, Step, read_work
from workers.runner.libtest import read_report
from workers.runner.visibility import why_elsewhere, why_incomplete


@dataclass(frozen=True, slots=True)
class _Finding:
    """A verdict with its reason, before the facts beside it are added."""

    verdict: Verdict
    reason: str


def judge(
    test: TestSpec,
    evidence: TestEvidence,
    canary: CanaryReading | None,
    families: Sequence[KernelFamily] = (),
) -> Judgement:
    """Give the verdict on one test, its reason, and the facts beside it."""
    finding = _judge(test, evidence, canary, families)
    traces = evidence.plain.traces if evidence.plain else ()
    work = read_work(traces)
    return Judgement(
        verdict=finding.verdict,
        reason=finding.reason,
        passes_without_gpu=_passes_hidden(evidence.hidden),
        compared_values=_compared_values(test, work),
        is_partial=any(not trace.is_complete or trace.lost > 0 for trace in traces),
        kernels=tuple(sorted({step.name for step in work.kernels})),
    )


def _judge(
    test: TestSpec,
    evidence: TestEvidence,
    canary: CanaryReading | None,
    families: Sequence[KernelFamily],
) -> _Finding:
    if evidence.not_built is not None:
        return _Finding(Verdict.NOT_BUILT, evidence.not_built)
    if evidence.no_device is not None:
        return _Finding(Verdict.NO_DEVICE, evidence.no_device)
    if evidence.plain is None:
        return _Finding(Verdict.INCONCLUSIVE, "the test was not run")
    if test.expectation.kind is Expect.OPT_IN:
        return _judge_opt_in(test.expectation, evidence.plain, evidence.opted_in, canary)
    ended = _judge_ending(evidence.plain.run)
    if ended is not None:
        return ended
    if test.expectation.kind is Expect.REFUSED:
        return _judge_refusal(test, evidence.plain, canary)
    return _judge_launches(test.expectation, evidence.plain, canary, families)


def _judge_ending(run: RunRecord) -> _Finding | None:
    """Judge a run in which the test did not pass; none where it passed."""
    if run.ending in (Ending.WALL_LIMIT, Ending.CPU_LIMIT):
        return _Finding(Verdict.TIMED_OUT, run.detail)
    if run.ending is not Ending.EXITED:
        return _Finding(Verdict.CRASHED, run.detail)
    report = read_report(run.stdout)
    if report is None:
        return _Finding(Verdict.FAILED, f"ended with {run.exit_code} before the test harness reported")
    if report.failed or run.exit_code != 0:
        return _Finding(Verdict.FAILED, f"the test failed (exit code {run.exit_code})")
    if report.ignored:
        return _Finding(Verdict.SKIPPED, f"ignored: {report.ignore_reason or 'no reason given'}")
    if report.passed == 0:
        return _Finding(Verdict.SKIPPED, "no test of that name is in the binary")
    return None


def _judge_launches(
    expectation: Expectation,
    traced: TracedRun,
    canary: CanaryReading | None,
    families: Sequence[KernelFamily],
) -> _Finding:
    """Judge a passed test that has to run kernels."""
    work = read_work(traced.traces)
    expected = _expected_kernels(expectation, work, families)
    incomplete = why_incomplete(traced, canary)
    unseen = incomplete or (None if expected else why_elsewhere(traced))
    copy = work.operand_copy(expected)
    # What was seen between upload and expected kernel stands, whatever else was not seen.
    if copy is not None and (expected or unseen is None):
        where = "before the last expected kernel" if expected else "and no expected kernel was seen"
        return _Finding(Verdict.HOST_ROUND_TRIP, f"{copy.described()}, {where}")
    if unseen is not None:
        return _Finding(Verdict.INCONCLUSIVE, unseen)
    if not work.kernels:
        return _Finding(Verdict.NO_KERNEL, _nothing_ran(traced, work))
    missing = _missing(expectation, work, families)
    if missing:
        return _Finding(Verdict.INCONCLUSIVE, f"expected {missing}; seen instead: {_names(work.kernels)}")
    if work.hides_copies:
        return _Finding(Verdict.INCONCLUSIVE, f"{work.hides_copies}: whether operands stayed is not seen")
    if expectation.kind is Expect.COMPOSITE:
        return _Finding(Verdict.COMPOSITE, f"made of other operators' kernels: {_names(expected)}")
    return _Finding(Verdict.ON_DEVICE, f"ran on the device: {_names(expected)}; operands stayed")


def _judge_refusal(test: TestSpec, traced: TracedRun, canary: CanaryReading | None) -> _Finding:
    """Judge a passed test that has to show a structured error."""
    work = read_work(traced.traces)
    copy = work.operand_copy(())
    if copy is not None:
        return _Finding(Verdict.HOST_ROUND_TRIP, f"{copy.described()}, where a refusal was expected")
    if not test.facts.asserts_structured_error:
        known = (
            "does not assert" if test.facts.asserts_structured_error is False else "is not known to assert"
        )
        return _Finding(Verdict.INCONCLUSIVE, f"the test {known} the structured error")
    unseen = why_incomplete(traced, canary) or why_elsewhere(traced) or work.hides_copies
    if unseen:
        return _Finding(Verdict.INCONCLUSIVE, f"{unseen}: a copy to the host might not be seen")
    error = test.expectation.error or "the structured error"
    return _Finding(Verdict.REFUSED, f"{error} is asserted; no operand-sized copy to the host")


def _judge_opt_in(
    expectation: Expectation, plain: TracedRun, opted_in: TracedRun | None, canary: CanaryReading | None
) -> _Finding:
    """Judge a pair of runs: refused without the variable, passed and warned about with it."""
    variable, kernel, error = expectation.opt_in_variable, expectation.opt_in_kernel, expectation.error
    ended = _judge_ending(plain.run)
    if ended is not None and ended.verdict is not Verdict.FAILED:
        return ended
    work = read_work(plain.traces)
    copy = work.operand_copy(())
    if copy is not None:
        return _Finding(Verdict.HOST_ROUND_TRIP, f"without {variable}: {copy.described()}")
    if error is None or not _lines_with(plain.run, error):
        return _Finding(Verdict.FAILED, f"without {variable} the log does not name {error}")
    unseen = why_incomplete(plain, canary) or why_elsewhere(plain) or work.hides_copies
    if unseen:
        return _Finding(Verdict.INCONCLUSIVE, f"without {variable}: {unseen}")
    if opted_in is None:
        return _Finding(Verdict.INCONCLUSIVE, f"the test was not run with {variable}")
    ended = _judge_ending(opted_in.run)
    if ended is not None:
        return _Finding(ended.verdict, f"with {variable}: {ended.reason}")
    if not _lines_with(opted_in.run, str(kernel), str(variable)):
        return _Finding(Verdict.FAILED, f"with {variable} no line of the log names {kernel} and {variable}")
    reason = f"without {variable} {error}; with it passed, and the log names {kernel} and {variable}"
    return _Finding(Verdict.OPT_IN_PROVED, reason)


def _lines_with(run: RunRecord, *words: str) -> list[str]:
    lines = [*run.stdout.splitlines(), *run.stderr.splitlines()]
    return [line for line in lines if all(word in line for word in words)]


def _expected_kernels(
    expectation: Expectation, work: DeviceWork, families: Sequence[KernelFamily]
) -> list[Step]:
    """Give the kernels that the expectation means. A composite that names none means every kernel."""
    wanted = (*expectation.kernels, *expectation.any_kernel)
    chosen = [family for family in families if family.name in expectation.families]
    if expectation.kind is Expect.COMPOSITE and not wanted and not chosen:
        return work.kernels
    return [
        step
        for step in work.kernels
        if any(step.is_called(name) for name in wanted) or any(step.is_of(family) for family in chosen)
    ]


def _missing(expectation: Expectation, work: DeviceWork, families: Sequence[KernelFamily]) -> str:
    """Name what the expectation asks for and no process launched."""
    missing = [
        f"kernel {name}"
        for name in expectation.kernels
        if not any(step.is_called(name) for step in work.kernels)
    ]
    choice = expectation.any_kernel
    if choice and not any(step.is_called(name) for step in work.kernels for name in choice):
        missing.append(f"one of the kernels {', '.join(choice)}")
    missing += [
        f"a kernel of {family.name}"
        for family in families
        if family.name in expectation.families and not any(step.is_of(family) for step in work.kernels)
    ]
    return ", ".join(missing)


def _nothing_ran(traced: TracedRun, work: DeviceWork) -> str:
    if not traced.traces:
        return "passed, and no process initialised the driver"
    if any(work.processes):
        return "passed, and nothing but copies was done on the device"
    return "passed; the driver was initialised and nothing ran on the device"


def _names(steps: Sequence[Step]) -> str:
    return ", ".join(sorted({step.name for step in steps}))


def _passes_hidden(hidden: RunRecord | None) -> bool | None:
    """Answer the policy's question: does it pass on a machine without a GPU?"""
    if hidden is None or hidden.ending is Ending.NOT_STARTED:
        return None
    ended = _judge_ending(hidden)
    if ended is None:
        return True
    return None if ended.verdict is Verdict.SKIPPED else False


def _compared_values(test: TestSpec, work: DeviceWork) -> bool | None:
    """Tell whether device values were compared: the source says so, and something was read back."""
    if not test.facts.compares_values or not work.kernels:
        return test.facts.compares_values
    return work.reads_back or bool(work.hides_copies)

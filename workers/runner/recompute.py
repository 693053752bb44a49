"""Computes the verdicts of an outcome again, from the job that was sent and the evidence that came back."""

from __future__ import annotations

from workers.protocol.job import JobSpec, TestSpec
from workers.protocol.outcome import JobState, Judgement, Outcome, TestOutcome
from workers.runner.verdict import judge


class MismatchError(ValueError):
    """An outcome that answers something else than the job asked."""


def recompute(job: JobSpec, outcome: Outcome) -> tuple[Judgement, ...]:
    """Judge each test by what the job expected of it, whatever the outcome says was expected."""
    if (outcome.job_id, outcome.lease_id) != (job.job_id, job.lease_id):
        raise MismatchError(f"answers job `{outcome.job_id}` under lease `{outcome.lease_id}`")
    answered = [test.test for test in outcome.tests]
    if outcome.state is JobState.CUT_SHORT:
        _check_cut(job, answered)
    elif answered and answered != list(job.tests):
        raise MismatchError(f"answers {len(answered)} tests that are not the job's {len(job.tests)}")
    read = [(reading.name, reading.sha256) for reading in outcome.ptx]
    if read and read != [(text.name, text.sha256) for text in job.ptx]:
        raise MismatchError(f"answers {len(read)} PTX texts that are not the job's {len(job.ptx)}")
    return tuple(_judged(job, outcome, test) for test in outcome.tests)


def _check_cut(job: JobSpec, answered: list[TestSpec]) -> None:
    """Refuse a cut that nobody asked for, or that does not leave over just the last tests."""
    if job.gpu_s is None:
        raise MismatchError("was cut short, and the job has no limit of its time on a device")
    if not 0 < len(answered) < len(job.tests) or answered != list(job.tests[: len(answered)]):
        raise MismatchError(f"was cut short, and is not about the first of the job's {len(job.tests)} tests")


def _judged(job: JobSpec, outcome: Outcome, test: TestOutcome) -> Judgement:
    if test.canary is not None and not 0 <= test.canary < len(outcome.canaries):
        raise MismatchError(f"test `{test.test.name}` names canary {test.canary}, which did not run")
    canary = outcome.canaries[test.canary] if test.canary is not None else None
    return judge(test.test, test.evidence, canary, job.families)

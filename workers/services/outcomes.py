"""Taking outcomes: only what is signed, answers the job, and comes under the lease that holds.

The verdicts that are stored are computed here, from the evidence that came and the job that was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from django.db import transaction

from audit.errors import LeaseLostError
from audit.models import RowState
from audit.scanner.ptx.driver import DriverAnswer, first_error
from audit.services.driver_answers import driver_answers_keep
from audit.services.leases import lease_finish
from workers.errors import OutcomeRefusedError
from workers.models import PtxLoad, Runner, Verification, VerificationJob, VerifiedFunction
from workers.protocol.codec import from_bytes, to_json
from workers.protocol.outcome import JobState, Judgement, Outcome, Verdict
from workers.protocol.report import MAX_LOG_BYTES
from workers.protocol.signing import SignatureError, SignedOutcome, read_signed
from workers.runner.device_work import is_called
from workers.runner.recompute import MismatchError, recompute
from workers.services.events import event_note, refusal_note
from workers.services.jobs import job_continue, leased_spec
from workers.services.runners import signing_key

AfterOutcome = Callable[[VerificationJob, list[Verification]], None]
#: How a job's row ends, by how the runner says that the job ended.
_ENDINGS = {
    JobState.FINISHED: RowState.SUCCEEDED,
    JobState.CUT_SHORT: RowState.SUCCEEDED,
    JobState.NO_DEVICE: RowState.SUCCEEDED,
    JobState.NOT_BUILT: RowState.SUCCEEDED,
    JobState.MALFORMED: RowState.FAILED,
    JobState.REFUSED: RowState.FAILED,
    JobState.FAILED: RowState.FAILED,
}
#: CUDA_ERROR_INVALID_IMAGE and CUDA_ERROR_INVALID_PTX. What else a driver says (no memory, no binary for this
#: device, PTX newer than the driver) is of the machine, and no answer about the text.
_REFUSALS = (200, 218)


def outcome_accept(
    *, runner: Runner, job_id: int, raw: bytes, after: AfterOutcome, log: str = ""
) -> VerificationJob:
    """Store an outcome and end its job, or refuse it with the reason, which is kept.

    `after` runs in the transaction that stores the verifications.
    """
    job = VerificationJob.objects.select_related("repository", "commit", "runner").filter(pk=job_id).first()
    if job is None:
        raise OutcomeRefusedError(f"There is no job {job_id}.")
    try:
        outcome = _read(runner, job, raw)
        judgements = _judged(job, outcome)
        with transaction.atomic():
            _finish(job, outcome, log)
            verifications = _store(job, outcome, judgements)
            event_note(act="outcome taken", job=job, runner=runner, detail=outcome.state.value)
            if outcome.state is JobState.CUT_SHORT:
                job_continue(job=job, done=len(outcome.tests))
            after(job, verifications)
    except (OutcomeRefusedError, LeaseLostError) as error:
        refusal_note(job=job, runner=runner, reason=str(error))
        raise OutcomeRefusedError(str(error)) from error
    job.refresh_from_db()
    return job


def outcome_job_id(*, raw: bytes) -> int:
    """Read which job an outcome claims to answer; whether it may is told by its signature."""
    try:
        return int(from_bytes(SignedOutcome, raw).outcome.job_id)
    except ValueError as error:
        raise OutcomeRefusedError(f"Not an outcome: {error}") from error


def log_keep(*, job: VerificationJob, text: str) -> None:
    """Keep what the runner wrote while it worked; only under the lease that holds."""
    VerificationJob.objects.filter(pk=job.pk, state=RowState.RUNNING, lease_id=job.lease_id).update(
        log=_plain(text)[:MAX_LOG_BYTES]
    )


def _read(runner: Runner, job: VerificationJob, raw: bytes) -> Outcome:
    lease_id = str(job.lease_id) if job.lease_id is not None else "none"
    try:
        outcome = read_signed(raw, key=signing_key(runner=runner), job_id=str(job.pk), lease_id=lease_id)
    except SignatureError as error:
        raise OutcomeRefusedError(f"The outcome is refused: {error}.") from error
    if job.runner_id != runner.pk:
        raise OutcomeRefusedError("The outcome is refused: the job is leased to another runner.")
    return outcome


def _judged(job: VerificationJob, outcome: Outcome) -> tuple[Judgement, ...]:
    if job.lease_id is None:
        raise OutcomeRefusedError("The outcome is refused: the job is over.")
    try:
        return recompute(leased_spec(job=job, lease_id=job.lease_id), outcome)
    except MismatchError as error:
        raise OutcomeRefusedError(f"The outcome is refused: it {error}.") from error


def _finish(job: VerificationJob, outcome: Outcome, log: str) -> None:
    state = _ENDINGS[outcome.state]
    reason = _plain(outcome.reason)
    columns: dict[str, Any] = {
        "outcome_state": outcome.state.value,
        "outcome_reason": reason,
        "runner_version": outcome.runner_version[:40],
        "tracer": _plain(outcome.tracer or ""),
        "probe": _document(outcome.probe) or {},
        "canaries": [_document(canary) for canary in outcome.canaries],
        "bundle_manifest": _manifest(outcome),
        "gpu_seconds": sum(test.evidence.gpu_s for test in outcome.tests),
        "done": len(outcome.tests) or len(outcome.ptx),
    }
    if log:
        columns["log"] = _plain(log)[:MAX_LOG_BYTES]
    assert job.lease_id is not None  # noqa: S101 - the outcome was read under it
    lease_finish(
        row=job,
        lease_id=job.lease_id,
        state=state,
        reason=(reason or "The runner gave no reason.") if state == RowState.FAILED else "",
        **columns,
    )


def _store(job: VerificationJob, outcome: Outcome, judgements: tuple[Judgement, ...]) -> list[Verification]:
    if job.commit is None:
        _store_ptx(job, outcome)
        return []
    verifications = Verification.objects.bulk_create(
        [
            Verification(
                job=job,
                repository=job.repository,
                commit=job.commit,
                position=position,
                crate=job.crate,
                binary=test.test.binary,
                test=test.test.name,
                verdict=judgement.verdict.value,
                runner_verdict=test.judgement.verdict.value,
                reason=_plain(judgement.reason),
                passes_without_gpu=judgement.passes_without_gpu,
                compared_values=judgement.compared_values,
                is_partial=judgement.is_partial,
                kernels=[_plain(kernel) for kernel in judgement.kernels],
                expectation=_document(test.test.expectation),
                evidence=_document(test.evidence),
                canary=_of_32_bits(test.canary),
            )
            for position, (test, judgement) in enumerate(zip(outcome.tests, judgements, strict=True))
        ]
    )
    VerifiedFunction.objects.bulk_create(
        VerifiedFunction(verification=verification, symbol=symbol, digest=digest)
        for verification in verifications
        for symbol, digest, kernels in job.functions.get(str(verification.position), ())
        if _is_about(verification, kernels)
    )
    _store_ptx(job, outcome)
    return verifications


def _is_about(verification: Verification, kernels: list[str]) -> bool:
    """Whether a verification says something of a function: its own kernels ran, or it has none by name."""
    if verification.verdict != Verdict.ON_DEVICE or not kernels:
        return True
    return any(is_called(seen, kernel) for seen in verification.kernels for kernel in kernels)


def _store_ptx(job: VerificationJob, outcome: Outcome) -> None:
    PtxLoad.objects.bulk_create(
        PtxLoad(
            job=job,
            name=_plain(reading.name)[:300],
            sha256=reading.sha256[:64],
            is_loaded=reading.loaded,
            result=_of_32_bits(reading.result),
            error=_plain(reading.error),
            log=_plain(reading.log),
            device=_plain(reading.device)[:200],
            driver=_plain(reading.driver_version)[:60],
        )
        for reading in outcome.ptx
    )
    answers = [
        DriverAnswer(
            sha256=reading.sha256[:64],
            is_loaded=reading.loaded,
            device=_plain(reading.device)[:200],
            driver=cuda_version(_plain(reading.driver_version))[:60],
            error=_plain(reading.error) if not reading.loaded else "",
            said=first_error(_plain(reading.log)) if not reading.loaded else "",
        )
        for reading in outcome.ptx
        if (reading.loaded and reading.result == 0) or (not reading.loaded and reading.result in _REFUSALS)
    ]
    if answers:
        driver_answers_keep(repository=job.repository, answers=answers)


def cuda_version(number: str) -> str:
    """Give the CUDA version that a driver means by a number such as 13000."""
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}" if re.fullmatch(r"\d{4,6}", number) else number


def _of_32_bits(number: int | None) -> int | None:
    """Return a number that its column holds; a driver says no other, and a runner that does says nothing."""
    return number if number is not None and 0 <= number < 2**31 else None


def _manifest(outcome: Outcome) -> Any:
    try:
        return json.loads(_plain(outcome.bundle_manifest or "{}"))
    except (ValueError, RecursionError) as error:
        raise OutcomeRefusedError(f"The outcome is refused: its manifest is no JSON: {error}.") from error


def _document(value: object) -> Any:
    """Give a document as PostgreSQL's JSON takes it: without the character that its text can't hold."""
    return _without_nul(to_json(value)) if value is not None else None


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _without_nul(item) for key, item in value.items()}
    return value


def _plain(text: str) -> str:
    return text.replace("\0", "�")

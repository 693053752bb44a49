"""What a runner answers: the evidence, its own verdicts and the machine, bound to job and lease."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workers.protocol.evidence import CanaryReading, PtxReading, TestEvidence
from workers.protocol.job import PROTOCOL_VERSION, TestSpec
from workers.protocol.readings import Probe


class Verdict(StrEnum):
    """What a test proved."""

    ON_DEVICE = "on-device"
    REFUSED = "refused"
    OPT_IN_PROVED = "opt-in-proved"
    COMPOSITE = "composite"
    HOST_ROUND_TRIP = "host-round-trip"
    NO_KERNEL = "no-kernel"
    SKIPPED = "skipped"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    NOT_BUILT = "not-built"
    NO_DEVICE = "no-device"
    INCONCLUSIVE = "inconclusive"


#: The verdicts that count as proof.
PROVED = (Verdict.ON_DEVICE, Verdict.REFUSED, Verdict.OPT_IN_PROVED, Verdict.COMPOSITE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with what it rests on.

    `passes_without_gpu` and `compared_values` stand beside it: null is "not known". `is_partial` says that
    the trace has no `end` or lost records. `kernels` are the names seen.
    """

    verdict: Verdict
    reason: str
    passes_without_gpu: bool | None = None
    compared_values: bool | None = None
    is_partial: bool = False
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """One test of the job: what was asked, seen and concluded.

    `canary` is the place, in the outcome's `canaries`, of the one that ran before this test; null for none.
    """

    __test__ = False

    test: TestSpec
    evidence: TestEvidence
    judgement: Judgement
    canary: int | None = None


class JobState(StrEnum):
    """How the job as a whole ended. `cut-short`: its time on the device was over before its last tests."""

    FINISHED = "finished"
    CUT_SHORT = "cut-short"
    MALFORMED = "malformed"
    REFUSED = "refused"
    NOT_BUILT = "not-built"
    NO_DEVICE = "no-device"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one job. `reason` is empty only where the job finished."""

    job_id: str
    lease_id: str
    state: JobState
    reason: str
    started_at: str
    ended_at: str
    runner_version: str
    version: int = PROTOCOL_VERSION
    probe: Probe | None = None
    canaries: tuple[CanaryReading, ...] = ()
    bundle_manifest: str | None = None
    tracer: str | None = None
    tests: tuple[TestOutcome, ...] = ()
    ptx: tuple[PtxReading, ...] = ()

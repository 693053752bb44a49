"""The sample crate: its tests, the verdict that each must get, and the job that runs them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workers.protocol.codec import from_json
from workers.protocol.job import BundleRef, JobKind, JobSpec, KernelFamily, Limits, TestSpec
from workers.protocol.outcome import Verdict

CRATE = Path(__file__).parents[2] / "samples" / "gpuproof"
FEATURES = ("uncompiled",)


@dataclass(frozen=True, slots=True)
class Expected:
    """One test of the sample with the verdict it must get."""

    test: TestSpec
    verdict: Verdict
    passes_without_gpu: bool | None
    compared_values: bool | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The file `expectations.json`."""

    families: tuple[KernelFamily, ...]
    limits: Limits
    tests: tuple[Expected, ...]


@cache
def sample() -> Sample:
    """Read what the sample's tests must get."""
    return from_json(Sample, json.loads((CRATE / "expectations.json").read_text()))


def sample_job(commit: str, bundle: BundleRef) -> JobSpec:
    """Give the job that runs the whole sample."""
    return JobSpec(
        job_id="gpuproof",
        lease_id="lease-1",
        kind=JobKind.VERIFY,
        commit=commit,
        crate="gpuproof",
        features=FEATURES,
        bundle=bundle,
        families=sample().families,
        tests=tuple(expected.test for expected in sample().tests),
        limits=sample().limits,
    )

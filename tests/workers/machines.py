"""Runners, bundles and jobs for tests, and the outcomes that answer them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from django.utils import timezone

from audit.models import Commit, Repository
from workers.models import Runner, TestBundle, VerificationJob
from workers.protocol.evidence import (
    CanaryReading,
    Ending,
    EventKind,
    ProcessTrace,
    RunRecord,
    TestEvidence,
    TracedRun,
    TraceEvent,
)
from workers.protocol.job import BundleRef, Expect, Expectation, JobKind, JobSpec, TestSpec
from workers.protocol.outcome import JobState, Outcome, TestOutcome
from workers.protocol.readings import Inability, Probe, ProbeReading
from workers.protocol.signing import sign, to_bytes
from workers.runner.bundle import describe_file, write_bundle
from workers.runner.manifest import BundleManifest, TestBinary
from workers.runner.probe.conclusions import RUN_ON_DEVICE
from workers.runner.verdict import judge
from workers.services.jobs import UNSENT, job_create, leased_spec
from workers.services.runners import signing_key, token_hash

COMMIT = "a" * 40
PASSED = "\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
HARNESS = f"#!/bin/sh\necho 'test '$1' ... ok'\necho '{PASSED.strip()}'\n"
ABLE = Probe((ProbeReading("nvml", "nvml", "1 device", 0, "2026-01-01T00:00:00+00:00", 0.1),))
UNABLE = Probe(ABLE.readings, (Inability(RUN_ON_DEVICE, "NVML lists 0 devices", "nvml"),))


def make_runner(name: str = "rack-1", *, is_able: bool = True, **columns: object) -> Runner:
    """Make a runner that registered and was heard of just now; its token is `token of NAME`."""
    now = timezone.now()
    defaults = {
        "token_hash": token_hash(f"token of {name}"),
        "key_serial": 1,
        "registered_at": now,
        "last_seen_at": now,
        "is_able": is_able,
    }
    return Runner.objects.create(name=name, **{**defaults, **columns})


def make_bundle_file(folder: Path, script: str = HARNESS, **fields: object) -> Path:
    """Write a bundle with a stand-in for one test binary."""
    binary = folder / "unit"
    binary.write_text(script)
    manifest = BundleManifest(
        repository="r",
        commit=COMMIT,
        crate="c",
        features=(),
        target="x86_64-unknown-linux-gnu",
        target_cpu="generic",
        cpu_features=("sse2",),
        rustflags=(),
        dropped_rustflags=(),
        environment={},
        rustc="rustc 1",
        command="cargo test",
        built_at="2026-01-01T00:00:00+00:00",
        binaries=(TestBinary("unit", "bin/unit", "unit", ("passes",)),),
        files=(describe_file(binary, "bin/unit"),),
    )
    write_bundle(replace(manifest, **fields), [("bin/unit", binary)], folder / "bundle.tar")  # type: ignore[arg-type]
    return folder / "bundle.tar"


def make_test(name: str = "passes", kernel: str = "relu_kernel") -> TestSpec:
    return TestSpec("unit", name, Expectation(Expect.ON_DEVICE, kernels=(kernel,)))


def make_job(
    repository: Repository,
    *,
    tests: Iterable[TestSpec] = (),
    bundle: TestBundle | None = None,
    object_id: str = COMMIT,
    **arguments: object,
) -> VerificationJob:
    """Ask for a verification of one test, or of those given."""
    commit, _ = Commit.objects.get_or_create(repository=repository, object_id=object_id)
    spec = JobSpec(
        UNSENT,
        UNSENT,
        JobKind.VERIFY,
        commit=object_id,
        crate="c",
        bundle=BundleRef(bundle.sha256 if bundle else "0" * 64),
        tests=tuple(tests) or (make_test(),),
    )
    return job_create(
        repository=repository,
        spec=spec,
        subject="a test",
        actor=None,
        commit=commit,
        bundle=bundle,
        **arguments,  # type: ignore[arg-type]
    )


def make_run(stdout: str = PASSED) -> RunRecord:
    return RunRecord(
        command=("unit",),
        environment={},
        ending=Ending.EXITED,
        exit_code=0,
        signal=None,
        wall_s=1.5,
        cpu_s=0.1,
        peak_memory_bytes=1000,
        stdout=stdout,
        stderr="",
        stdout_bytes=len(stdout),
        stderr_bytes=0,
        user="nobody",
        started_at="2026-01-01T00:00:00+00:00",
        network="cut",
        libraries=(),
    )


def make_evidence(*kernels: str) -> TestEvidence:
    """Make the evidence of a passed test that launched these kernels, and passes without a GPU too."""
    events = tuple(
        TraceEvent(
            EventKind.LAUNCH, place, 1000 * place, name=name, grid="1x1x1", block="32x1x1", device_ns=500
        )
        for place, name in enumerate(kernels, 1)
    )
    trace = ProcessTrace(7, 1, "unit", events, is_complete=True, launches=len(kernels))
    return TestEvidence(plain=TracedRun(make_run(), (trace,) if kernels else ()), hidden=make_run())


def make_outcome(job: VerificationJob, *kernels: str) -> Outcome:
    """Make the outcome of a leased job, each test of which launched these kernels."""
    assert job.lease_id is not None
    spec = leased_spec(job=job, lease_id=job.lease_id)
    canary = CanaryReading(seen=True, reason="")
    evidence = make_evidence(*kernels)
    return Outcome(
        job_id=spec.job_id,
        lease_id=spec.lease_id,
        state=JobState.FINISHED,
        reason="",
        started_at="2026-01-01T00:00:00+00:00",
        ended_at="2026-01-01T00:01:00+00:00",
        runner_version="1",
        probe=ABLE,
        canaries=(canary,),
        tests=tuple(
            TestOutcome(test, evidence, judge(test, evidence, canary, spec.families), 0)
            for test in spec.tests
        ),
    )


def signed(outcome: Outcome, runner: Runner) -> bytes:
    return to_bytes(sign(outcome, key=signing_key(runner=runner), key_id=runner.key_id))

"""The sample crate from its source to an outcome: built, bundled, run, judged."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolchain import rust_program
from tests.workers.runner.gpuproof import CRATE, FEATURES, sample, sample_job
from workers.protocol.codec import canonical_bytes, from_bytes
from workers.protocol.job import BundleRef, JobSpec
from workers.protocol.outcome import JobState, Outcome, Verdict
from workers.runner.bundle import sha256_of
from workers.runner.cargo import BuildRequest, build_tests, write_built
from workers.runner.job import Runner, run_job
from workers.runner.probe.conclusions import RUN_ON_DEVICE
from workers.runner.probe.machine import probe_machine

COMMIT = "0" * 40

pytestmark = pytest.mark.skipif(rust_program("cargo") is None, reason="no cargo that works")


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    """Build the sample's bundle once."""
    # Its build runs as another user, who can't pass through pytest's own folders.
    with tempfile.TemporaryDirectory(prefix="ferroaudit-test-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield build_bundle(Path(name))


def build_bundle(folder: Path) -> Path:
    source = folder / "source"
    shutil.copytree(CRATE, source, ignore=shutil.ignore_patterns("target"))
    request = BuildRequest(crate="gpuproof", features=FEATURES, offline=True)
    built = build_tests(
        source, request, repository="sample", commit=COMMIT, target_folder=folder / "target", work=folder
    )
    write_built(built, folder / "bundle.tar")
    return folder / "bundle.tar"


def run_sample(bundle: Path, work: Path) -> Outcome:
    job = sample_job(COMMIT, BundleRef(sha256=sha256_of(bundle), path=str(bundle)))
    raw = canonical_bytes(job)
    assert from_bytes(JobSpec, raw) == job
    return run_job(raw, Runner(work=work, cache=work / "cache"))


@pytest.fixture(scope="module")
def outcome(bundle: Path) -> Outcome:
    """Run the whole sample once on this machine."""
    if probe_machine().inability(RUN_ON_DEVICE) is None:
        pytest.skip("this machine has a device, so nothing ends in `no-device`")
    # The tests run as another user, who can't pass through pytest's own folders.
    with tempfile.TemporaryDirectory(prefix="ferroaudit-test-", ignore_cleanup_errors=True) as name:
        work = Path(name)
        work.chmod(0o711)
        return run_sample(bundle, work)


def test_without_a_device_the_job_ends_with_the_reading_that_says_so(outcome: Outcome) -> None:
    assert outcome.state is JobState.NO_DEVICE
    assert outcome.probe is not None
    inability = outcome.probe.inability(RUN_ON_DEVICE)
    assert inability is not None and inability.because in outcome.reason
    reading = outcome.probe.reading(inability.reading)
    assert reading is not None and reading.output in outcome.reason


def test_without_a_device_every_built_test_gets_no_device(outcome: Outcome) -> None:
    verdicts = {test.test.name: test.judgement.verdict for test in outcome.tests}
    assert verdicts.pop("lgamma_runs_on_the_device") is Verdict.NOT_BUILT
    assert set(verdicts.values()) == {Verdict.NO_DEVICE}
    assert len(outcome.tests) == len(sample().tests)


def test_what_passes_without_a_gpu_is_found_without_one(outcome: Outcome) -> None:
    found = {test.test.name for test in outcome.tests if test.judgement.passes_without_gpu}
    wanted = {expected.test.name for expected in sample().tests if expected.passes_without_gpu}
    assert found == wanted


def test_the_compilers_words_stand_beside_what_was_not_built(outcome: Outcome) -> None:
    reason = next(t.judgement.reason for t in outcome.tests if t.judgement.verdict is Verdict.NOT_BUILT)
    assert "cannot find function `lgamma`" in reason


def test_an_outcome_survives_its_own_json(outcome: Outcome) -> None:
    assert from_bytes(Outcome, canonical_bytes(outcome)) == outcome


def test_every_verdict_has_a_test_in_the_sample() -> None:
    assert {expected.verdict for expected in sample().tests} == set(Verdict)

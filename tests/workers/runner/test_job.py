"""Whatever a job is, the runner survives it and the outcome says how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.machines import make_bundle_file
from tests.workers.runner.test_execute import is_alive
from workers.protocol.codec import canonical_bytes
from workers.protocol.job import (
    BundleRef,
    Expect,
    Expectation,
    JobKind,
    JobSpec,
    Needs,
    PtxText,
    TestSpec,
)
from workers.protocol.outcome import JobState, Verdict
from workers.protocol.readings import Inability, Probe, ProbeReading
from workers.protocol.signing import read_signed
from workers.runner.__main__ import main
from workers.runner.bundle import describe_file, sha256_of, write_bundle
from workers.runner.job import Runner, lacking_device, run_job
from workers.runner.manifest import BundleManifest, NotBuilt, TestBinary
from workers.runner.probe.conclusions import RUN_ON_DEVICE, TRACE
from workers.runner.recompute import recompute

HARNESS = """#!/bin/sh
echo
echo "running 1 test"
echo "test $1 ... ok"
echo
echo "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
"""


def reading(name: str, exit_code: int = 0, output: str = "", **values: str) -> ProbeReading:
    return ProbeReading(name, name, output, exit_code, "2026-01-01T00:00:00+00:00", 0.0, values)


NO_DEVICE = Probe(
    (reading("nvml", 12, "no library"), reading("platform", machine="x86_64"), reading("cpu", flags="sse2")),
    (Inability(RUN_ON_DEVICE, "NVML answers `no library`", "nvml"),),
)
JOB = JobSpec(
    "job-1",
    "lease-1",
    JobKind.VERIFY,
    commit="a" * 40,
    crate="c",
    bundle=BundleRef("0" * 64),
    tests=(
        TestSpec("unit", "passes", Expectation(Expect.ON_DEVICE, kernels=("k",))),
        TestSpec("broken", "any", Expectation(Expect.ON_DEVICE, kernels=("k",))),
        TestSpec("absent", "any", Expectation(Expect.ON_DEVICE, kernels=("k",))),
    ),
)


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    """A job whose bundle holds a stand-in for a test binary."""
    script = tmp_path / "unit"
    script.write_text(HARNESS)
    manifest = BundleManifest(
        repository="r",
        commit="a" * 40,
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
        files=(describe_file(script, "bin/unit"),),
        not_built=(NotBuilt("broken", "error[E0425]"),),
    )
    digest = write_bundle(manifest, [("bin/unit", script)], tmp_path / "bundle.tar")
    return replace(JOB, bundle=BundleRef(digest, str(tmp_path / "bundle.tar")))


def runner(folder: Path, probe: Callable[[], Probe] = lambda: NO_DEVICE) -> Runner:
    return Runner(work=folder, cache=folder / "cache", probe=probe, user=lambda: None)


def test_without_a_device_tests_still_answer_whether_they_pass_there(job: JobSpec, open_folder: Path) -> None:
    outcome = run_job(canonical_bytes(job), runner(open_folder))
    assert outcome.state is JobState.NO_DEVICE
    assert outcome.reason == "NVML answers `no library` (reading `nvml`)"
    passes, broken, absent = outcome.tests
    assert (passes.judgement.verdict, passes.judgement.passes_without_gpu) == (Verdict.NO_DEVICE, True)
    assert (broken.judgement.verdict, broken.judgement.reason) == (Verdict.NOT_BUILT, "error[E0425]")
    assert absent.judgement.reason == "the bundle holds no test binary `absent`"


def test_a_bundle_of_another_commit_is_refused(job: JobSpec, open_folder: Path) -> None:
    outcome = run_job(canonical_bytes(replace(job, commit="b" * 40)), runner(open_folder))
    assert outcome.state is JobState.REFUSED and "built from commit aaa" in outcome.reason


def test_a_bundle_that_is_not_here_is_refused(open_folder: Path) -> None:
    outcome = run_job(canonical_bytes(JOB), runner(open_folder))
    assert outcome.state is JobState.REFUSED and "is not here" in outcome.reason


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        (b"", ("", "")),
        (b"\xff", ("", "")),
        (b"[]", ("", "")),
        (b'{"job_id": "job-7", "lease_id": "lease-7", "kind": "paint"}', ("job-7", "lease-7")),
        (b'{"job_id": 7}', ("", "")),
        (b"[" * 100_000, ("", "")),
    ],
)
def test_a_malformed_job_ends_as_malformed(raw: bytes, ids: tuple[str, str], open_folder: Path) -> None:
    outcome = run_job(raw, runner(open_folder))
    assert outcome.state is JobState.MALFORMED and outcome.reason
    assert (outcome.job_id, outcome.lease_id) == ids


def test_an_error_of_the_runner_itself_ends_the_job_and_not_the_runner(open_folder: Path) -> None:
    def broken_probe() -> Probe:
        raise OSError("disk gone")

    outcome = run_job(canonical_bytes(JOB), runner(open_folder, broken_probe))
    assert outcome.state is JobState.FAILED and outcome.reason == "OSError: disk gone"


def test_a_ptx_job_without_a_device_reads_nothing_into_the_texts(open_folder: Path) -> None:
    job = JobSpec("job-1", "lease-1", JobKind.PTX, ptx=(PtxText("k", ".version 7.0"),))
    outcome = run_job(canonical_bytes(job), runner(open_folder))
    assert (outcome.state, outcome.ptx) == (JobState.NO_DEVICE, ())


def test_a_checkout_that_is_no_repository_ends_as_not_built(open_folder: Path) -> None:
    value = json.loads(canonical_bytes(JOB)) | {"bundle": None, "checkout": {"repository": str(open_folder)}}
    outcome = run_job(json.dumps(value).encode(), runner(open_folder))
    assert outcome.state is JobState.NOT_BUILT and "git" in outcome.reason
    assert {test.judgement.verdict for test in outcome.tests} == {Verdict.NOT_BUILT}


def test_a_test_is_told_which_device_it_lacks() -> None:
    test = replace(JOB.tests[0], needs=Needs(devices=1, compute_capability="9.0"))
    old = Probe((reading("nvml.device.0", compute_capability="8.6"),))
    new = Probe((reading("nvml.device.0", compute_capability="12.0"),))
    assert lacking_device(test, new) is None
    assert lacking_device(test, old) == (
        "needs 1 devices of compute capability 9.0, NVML lists 0 (reading `nvml`)"
    )


def test_the_file_door_writes_a_signed_outcome(job: JobSpec, tmp_path: Path, open_folder: Path) -> None:
    (tmp_path / "job.json").write_bytes(canonical_bytes(job))
    (tmp_path / "key").write_bytes(b"k" * 32)
    out = tmp_path / "outcome.json"
    code = main(
        [
            "run",
            str(tmp_path / "job.json"),
            "--out",
            str(out),
            "--work",
            str(open_folder),
            "--cache",
            str(open_folder / "cache"),
            "--key-file",
            str(tmp_path / "key"),
            "--key-id",
            "runner-1",
        ]
    )
    outcome = read_signed(out.read_bytes(), key=b"k" * 32, job_id="job-1", lease_id="lease-1")
    assert outcome.state in (JobState.NO_DEVICE, JobState.FINISHED)
    assert code == 0


def test_a_malformed_job_has_an_outcome_at_the_file_door_too(tmp_path: Path, open_folder: Path) -> None:
    (tmp_path / "job.json").write_bytes(b"{}")
    out = tmp_path / "outcome.json"
    assert main(["run", str(tmp_path / "job.json"), "--out", str(out), "--work", str(open_folder)]) == 1
    assert json.loads(out.read_bytes())["state"] == "malformed"


def test_a_killed_runner_takes_the_tested_command_with_it(tmp_path: Path, open_folder: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from workers.protocol.job import Limits\n"
        "from workers.runner.execute import run, scratch_folder\n"
        f"with scratch_folder(Path({str(open_folder)!r}), None) as scratch:\n"
        f" command = ['/bin/sh', '-c', 'echo $$ > {tmp_path}/pid; exec sleep 60']\n"
        " run(command, scratch=scratch, limits=Limits(), environment={})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[3])
    pid_file = tmp_path / "pid"
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    pid = int(pid_file.read_text())
    assert is_alive(pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)


BLIND = Probe(
    (
        *(reading("nvml"), reading("nvml.device.0", compute_capability="9.0"), reading("cupti", 1)),
        *(reading("platform", machine="x86_64"), reading("cpu", flags="sse2")),
    ),
    (Inability(TRACE, "there is no CUPTI", "cupti"),),
)


def test_a_job_begins_no_test_after_its_time_on_a_device(job: JobSpec, open_folder: Path) -> None:
    three = replace(job, tests=(job.tests[0],) * 3, gpu_s=1e-6)
    outcome = run_job(canonical_bytes(three), runner(open_folder, lambda: BLIND))
    assert outcome.state is JobState.CUT_SHORT and len(outcome.tests) == 1
    assert outcome.reason == "the 1e-06 s on a device that the job may take were over after 1 of 3 tests"
    assert len(recompute(three, outcome)) == 1


def test_a_job_with_time_enough_does_all_of_its_tests(job: JobSpec, open_folder: Path) -> None:
    three = replace(job, tests=(job.tests[0],) * 3, gpu_s=600)
    outcome = run_job(canonical_bytes(three), runner(open_folder, lambda: BLIND))
    assert outcome.state is JobState.FINISHED and len(outcome.tests) == 3


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_job_without_any_time_on_a_device_is_malformed(seconds: int, open_folder: Path) -> None:
    raw = json.dumps(json.loads(canonical_bytes(JOB)) | {"gpu_s": seconds}).encode()
    assert run_job(raw, runner(open_folder)).state is JobState.MALFORMED


def test_a_disk_that_takes_no_more_ends_the_job_and_not_the_runner(tmp_path: Path, open_folder: Path) -> None:
    bundle = make_bundle_file(tmp_path, HARNESS + "#" * 300_000)
    job = replace(JOB, bundle=BundleRef(sha256_of(bundle), str(bundle)))
    (tmp_path / "job.json").write_bytes(canonical_bytes(job))
    door = ["run", str(tmp_path / "job.json"), "--out", str(tmp_path / "out.json")]
    folders = ["--work", str(open_folder), "--cache", str(open_folder / "cache")]
    # The kernel refuses what makes a file longer than this, as it does where the disk is full.
    code = (
        "import resource, sys; from workers.runner.__main__ import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, *door, *folders]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    outcome = json.loads((tmp_path / "out.json").read_bytes())
    assert outcome["state"] == "failed" and "File too large" in outcome["reason"]
    assert [path.name for path in open_folder.iterdir()] == ["cache"]

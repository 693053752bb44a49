"""A wish becomes the list of tests that reach its target, and jobs of those that can prove something."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings

from audit.models import Commit, Repository, RowState, ScanRun
from tests.factories import make_repository, make_scan_run, make_user
from tests.git import commit_files
from tests.workers.machines import make_bundle_file, make_runner, signed
from tests.workers.machines import make_outcome as outcome_of
from tests.workers.workspace import FILES, make_workspace
from workers.errors import MachineryError
from workers.models import RequestTarget, Verification, VerificationJob, VerificationRequest, VerifiedFunction
from workers.protocol.evidence import PtxReading
from workers.protocol.job import PtxText
from workers.selectors.verifications import ptx_loads_of
from workers.services import jobs
from workers.services.bundles import bundle_keep
from workers.services.expiry import CHANGED, GONE, verifications_expire
from workers.services.jobs import job_approve, jobs_dispatch
from workers.services.outcomes import outcome_accept
from workers.services.requests import verification_request_create, verification_request_execute

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def places(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.BUNDLES_DIR = tmp_path / "bundles"
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)


@pytest.fixture
def workspace(tmp_path: Path) -> tuple[Repository, Commit]:
    return make_workspace(tmp_path)


def wish(workspace: tuple[Repository, Commit], target: RequestTarget, text: str = "") -> VerificationRequest:
    repository, commit = workspace
    return verification_request_create(
        repository=repository, commit=commit, target=target, text=text, actor=None
    )


def fulfil(request: VerificationRequest) -> list[VerificationJob]:
    made = verification_request_execute(pk=request.pk)
    request.refresh_from_db()
    return made


def names(job: VerificationJob) -> list[str]:
    return [test["name"].rpartition("::")[2] for test in job.spec["tests"]]


def test_a_function_is_verified_by_the_tests_that_reach_it_on_a_device(
    workspace: tuple[Repository, Commit],
) -> None:
    request = wish(workspace, RequestTarget.FUNCTION, "mini_gpu::ops::gpu_relu")
    (job,) = fulfil(request)
    assert names(job) == ["relu_matches_the_host", "relu_of_half_is_refused"]
    assert [test["name"].rpartition("::")[2] for test in request.tests] == [
        *names(job),
        "relu_of_much",
        "relu_without_a_device",
    ]
    on_device, refused = (test["expectation"] for test in job.spec["tests"])
    assert (on_device["kind"], on_device["any_kernel"]) == ("on-device", ["relu_kernel"])
    assert (refused["kind"], refused["error"]) == ("refused", "Unsupported")
    assert job.spec["features"] == ["cuda"] and job.spec["source"] == {"path": None, "is_of_strangers": False}
    assert [proof[0] for proof in job.functions["0"]] == ["mini_gpu::ops::gpu_relu"]


def test_a_bundle_of_the_commit_is_used_where_there_is_one(
    workspace: tuple[Repository, Commit], tmp_path: Path
) -> None:
    repository, commit = workspace
    file = make_bundle_file(tmp_path, commit=commit.object_id, crate="mini-gpu", features=("gpu",))
    bundle = bundle_keep(repository=repository, file=file, actor=None)
    (job,) = fulfil(wish(workspace, RequestTarget.FUNCTION, "mini_gpu::ops::gpu_relu"))
    assert job.bundle == bundle and job.spec["features"] == ["gpu"] and job.spec["source"] is None


def test_a_crate_is_verified_by_all_its_device_tests(workspace: tuple[Repository, Commit]) -> None:
    (job,) = fulfil(wish(workspace, RequestTarget.CRATE, "mini-gpu"))
    assert sorted(names(job)) == ["exp_runs", "relu_matches_the_host", "relu_of_half_is_refused"]


def test_at_a_commit_what_the_change_touched_comes_first(
    workspace: tuple[Repository, Commit], tmp_path: Path
) -> None:
    repository, _ = workspace
    changed = {"mini-gpu/tests/exp.rs": FILES["mini-gpu/tests/exp.rs"] + "\n// more\n"}
    object_id = commit_files(Path(repository.location), changed)
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    first, rest = fulfil(wish((repository, commit), RequestTarget.COMMIT))
    assert names(first) == ["exp_runs"] and first.pk < rest.pk
    assert sorted(names(rest)) == ["relu_matches_the_host", "relu_of_half_is_refused"]


def test_of_a_change_only_the_tests_that_run_what_changed_are_asked_for(
    workspace: tuple[Repository, Commit],
) -> None:
    repository, before = workspace
    work = Path(repository.location)
    commit_files(work, {"mini-gpu/tests/exp.rs": FILES["mini-gpu/tests/exp.rs"] + "\n// more\n"})
    object_id = commit_files(work, {"README.md": "A later commit that touches no test."})
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    (job,) = fulfil(wish((repository, commit), RequestTarget.CHANGE, before.object_id))
    assert names(job) == ["exp_runs"]


def test_a_change_of_a_callee_in_another_file_counts(workspace: tuple[Repository, Commit]) -> None:
    repository, _ = workspace
    work = Path(repository.location)
    ops = FILES["mini-gpu/src/ops.rs"]
    moved = ops.replace("fn helper(device: &GpuDevice) -> u32 { 1 }", "use crate::help::helper;")
    lib = FILES["mini-gpu/src/lib.rs"] + "pub mod help;\n"
    help_rs = "pub fn helper(device: &GpuDevice) -> u32 { 1 }\n"
    files = {"mini-gpu/src/ops.rs": moved, "mini-gpu/src/lib.rs": lib, "mini-gpu/src/help.rs": help_rs}
    before = commit_files(work, files)
    object_id = commit_files(work, {"mini-gpu/src/help.rs": help_rs.replace("1", "2")})
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    (job,) = fulfil(wish((repository, commit), RequestTarget.CHANGE, before))
    assert sorted(names(job)) == ["relu_matches_the_host", "relu_of_half_is_refused"]


def test_a_change_that_no_test_runs_says_so(workspace: tuple[Repository, Commit]) -> None:
    repository, before = workspace
    object_id = commit_files(Path(repository.location), {"README.md": "More."})
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    request = wish((repository, commit), RequestTarget.CHANGE, before.object_id)
    assert fulfil(request) == []
    assert f"No test that runs what changed since {before.object_id[:9]}" in request.note


def test_a_function_without_a_test_gives_no_job_and_says_so(workspace: tuple[Repository, Commit]) -> None:
    request = wish(workspace, RequestTarget.FUNCTION, "mini_gpu::ops::gpu_never_tested")
    assert fulfil(request) == []
    assert request.state == RowState.SUCCEEDED and "nothing to run" in request.note


def test_a_function_that_the_commit_has_not_is_told(workspace: tuple[Repository, Commit]) -> None:
    request = wish(workspace, RequestTarget.FUNCTION, "mini_gpu::ops::gpu_sin")
    assert fulfil(request) == [] and "has no function mini_gpu::ops::gpu_sin" in request.note


def test_code_that_is_on_no_branch_waits_for_a_person(
    workspace: tuple[Repository, Commit], tmp_path: Path
) -> None:
    repository, _ = workspace
    git = ["git", "-C", repository.location, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    made = subprocess.run(
        [*git, "commit-tree", "HEAD^{tree}", "-m", "a fork's"], check=True, capture_output=True, text=True
    )
    commit = Commit.objects.create(repository=repository, object_id=made.stdout.strip())
    (job,) = fulfil(wish((repository, commit), RequestTarget.CRATE, "mini-gpu"))
    assert job.waits_for_approval and job.spec["source"]["is_of_strangers"]
    make_runner()
    assert jobs_dispatch() == 0


def test_a_plain_folder_has_nothing_to_build_from(tmp_path: Path) -> None:
    for path, text in FILES.items():
        (tmp_path / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / path).write_text(text)
    repository = make_repository("folder", location=str(tmp_path / "w"))
    commit = Commit.objects.create(repository=repository, object_id="snapshot:" + "a" * 64)
    request = wish((repository, commit), RequestTarget.CRATE, "mini-gpu")
    assert fulfil(request) == []
    assert request.state == RowState.FAILED and "plain folder" in request.failure_reason


def test_who_asks_for_the_same_shares_the_request(workspace: tuple[Repository, Commit]) -> None:
    first = wish(workspace, RequestTarget.CRATE, "mini-gpu")
    assert wish(workspace, RequestTarget.CRATE, "mini-gpu") == first
    with pytest.raises(MachineryError, match="what is to be verified"):
        wish(workspace, RequestTarget.CRATE)


INVALID = "CUDA_ERROR_INVALID_PTX"
PTX = """
pub const RELU_PTX: &str = ".version 7.0\\n.target sm_80\\n.visible .entry relu_kernel() { ret; }\\n";
pub const EXP_PTX: &str = ".version 7.0\\n.target sm_80\\n.visible .entry exp_kernel() { ret; }\\n";
"""


def test_the_ptx_of_a_commit_becomes_a_job_that_needs_no_rust_and_its_readings_are_kept(
    workspace: tuple[Repository, Commit],
) -> None:
    repository, _ = workspace
    files = {"mini-gpu/src/lib.rs": FILES["mini-gpu/src/lib.rs"] + PTX}
    object_id = commit_files(Path(repository.location), files)
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    (job,) = fulfil(wish((repository, commit), RequestTarget.PTX))
    assert job.kind == "ptx" and job.bundle is None
    assert [text["name"] for text in job.spec["ptx"]] == ["mini_gpu::RELU_PTX", "mini_gpu::EXP_PTX"]
    runner = make_runner()
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    relu, exp = (PtxText(text["name"], text["text"]).sha256 for text in job.spec["ptx"])
    readings = (
        PtxReading("mini_gpu::RELU_PTX", relu, loaded=True, result=0, error="", log=""),
        PtxReading(
            "mini_gpu::EXP_PTX",
            exp,
            loaded=False,
            result=218,
            error="CUDA_ERROR_INVALID_PTX",
            log="line 1",
        ),
    )
    outcome = replace(outcome_of(job), ptx=readings, canaries=())
    raw = signed(outcome, runner)
    outcome_accept(runner=runner, job_id=job.pk, raw=raw, after=lambda job, found: None)
    (refused,) = ptx_loads_of(repository=repository, symbol="mini_gpu::EXP_PTX")
    assert (refused.is_loaded, refused.error, refused.log) == (False, INVALID, "line 1")


def test_the_ptx_of_a_fork_waits_for_a_person_too(workspace: tuple[Repository, Commit]) -> None:
    repository, _ = workspace
    files = {"mini-gpu/src/lib.rs": FILES["mini-gpu/src/lib.rs"] + PTX}
    work = Path(repository.location)
    object_id = commit_files(work, files)
    subprocess.run(["git", "-C", str(work), "reset", "-q", "--hard", "HEAD~1"], check=True)
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    (job,) = fulfil(wish((repository, commit), RequestTarget.PTX))
    assert job.kind == "ptx" and job.waits_for_approval
    make_runner()
    assert jobs_dispatch() == 0
    job_approve(job=job, actor=make_user())
    assert jobs_dispatch() == 1


def test_a_commit_without_ptx_gives_no_job_and_says_so(workspace: tuple[Repository, Commit]) -> None:
    request = wish(workspace, RequestTarget.PTX)
    assert fulfil(request) == [] and "no PTX text" in request.note


# -- what was proved ends when the code changes --------------------------------------------------------------


def prove(workspace: tuple[Repository, Commit], *kernels: str) -> VerificationJob:
    """Have a runner prove `gpu_relu`."""
    runner = make_runner()
    (job,) = fulfil(wish(workspace, RequestTarget.FUNCTION, "mini_gpu::ops::gpu_relu"))
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    raw = signed(outcome_of(job, *kernels), runner)
    return outcome_accept(runner=runner, job_id=job.pk, raw=raw, after=lambda job, found: None)


def scan_of(repository: Repository, path: str, old: str, new: str) -> ScanRun:
    assert old in FILES[path]
    object_id = commit_files(Path(repository.location), {path: FILES[path].replace(old, new)})
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    return make_scan_run(repository, commit=commit)


def test_proof_stands_while_other_code_changes(workspace: tuple[Repository, Commit]) -> None:
    prove(workspace, "relu_kernel")
    scan_run = scan_of(workspace[0], "mini-gpu/src/ops.rs", '"exp_kernel"', '"other_kernel"')
    assert verifications_expire(scan_run=scan_run, after=lambda scan_run: None) == 0


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("-> u32 { 1 }", "-> u32 { 2 }", CHANGED),
        ('"relu_kernel"', '"relu_v2"', CHANGED),
        ("pub fn gpu_relu", "pub fn gpu_rectify", GONE),
    ],
)
def test_proof_ends_when_the_function_or_a_callee_changes(
    workspace: tuple[Repository, Commit], old: str, new: str, reason: str
) -> None:
    prove(workspace, "relu_kernel")
    scan_run = scan_of(workspace[0], "mini-gpu/src/ops.rs", old, new)
    count = VerifiedFunction.objects.filter(expired_at=None).count()
    assert verifications_expire(scan_run=scan_run, after=lambda scan_run: None) == count > 0
    ended = VerifiedFunction.objects.exclude(expired_at=None)
    assert {(one.expired_because, one.expired_by) for one in ended} == {(reason, scan_run)}
    assert verifications_expire(scan_run=scan_run, after=lambda scan_run: None) == 0


def test_a_kernel_that_is_anothers_proves_nothing_about_the_function(
    workspace: tuple[Repository, Commit],
) -> None:
    job = prove(workspace, "exp_kernel")
    verification = Verification.objects.get(job=job, position=0)
    assert verification.verdict == "inconclusive"
    assert verification.functions.count() == 1

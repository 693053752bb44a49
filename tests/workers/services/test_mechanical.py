"""Mechanical reports are written by a worker, from the commit's code and what GPU runs showed."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings

from audit.models import Commit, Repository, RowState
from tests.git import commit_files
from tests.workers.machines import make_outcome, make_runner, signed
from tests.workers.workspace import FILES, make_workspace
from workers.errors import MachineryError
from workers.models import MechanicalReport, RequestTarget, Verification, VerifiedFunction
from workers.services import jobs
from workers.services.jobs import jobs_dispatch
from workers.services.mechanical import mechanical_report_create, mechanical_report_execute
from workers.services.outcomes import outcome_accept
from workers.services.requests import verification_request_create, verification_request_execute

pytestmark = pytest.mark.django_db
RELU = "mini_gpu::ops::gpu_relu"


@pytest.fixture
def workspace(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Repository, Commit]:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    return make_workspace(tmp_path)


def written(repository: Repository, commit: Commit, **what: object) -> MechanicalReport:
    report = mechanical_report_create(
        repository=repository,
        commit=commit,
        actor=None,
        **what,  # type: ignore[arg-type]
    )
    mechanical_report_execute(pk=report.pk)
    report.refresh_from_db()
    return report


def prove(repository: Repository, commit: Commit) -> None:
    """Have the tests of `gpu_relu` run on a GPU; with it hidden they fail."""
    wish = verification_request_create(
        repository=repository, commit=commit, target=RequestTarget.FUNCTION, text=RELU, actor=None
    )
    (job,) = verification_request_execute(pk=wish.pk)
    runner = make_runner()
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    raw = signed(make_outcome(job, "relu_kernel"), runner)
    outcome_accept(runner=runner, job_id=job.pk, raw=raw, after=lambda job, found: None)
    Verification.objects.update(passes_without_gpu=False)


def test_without_runs_a_function_is_not_done(workspace: tuple[Repository, Commit]) -> None:
    report = written(*workspace, symbol=RELU)
    assert (report.state, report.is_done) == (RowState.SUCCEEDED, False)
    assert report.document["functions"][0]["failed_checks"] == ["4e"]
    assert "**4d Test reachability.** 4 tests reach it" in report.markdown


def test_with_proof_every_check_holds_until_the_code_changes(workspace: tuple[Repository, Commit]) -> None:
    repository, commit = workspace
    prove(repository, commit)
    assert written(repository, commit, symbol=RELU).is_done is True
    changed = {"mini-gpu/src/ops.rs": FILES["mini-gpu/src/ops.rs"].replace("{ 1 }", "{ 2 }")}
    object_id = commit_files(Path(repository.location), changed)
    later = Commit.objects.create(repository=repository, object_id=object_id)
    assert written(repository, later, symbol=RELU).is_done is True
    VerifiedFunction.objects.update(expired_at=commit.repository.created_at, expired_because="changed")
    assert written(repository, later, symbol=RELU).is_done is False
    assert written(repository, commit, symbol=RELU).is_done is True


def test_a_range_reports_what_changed_in_it(workspace: tuple[Repository, Commit]) -> None:
    repository, commit = workspace
    changed = {"mini-gpu/src/ops.rs": FILES["mini-gpu/src/ops.rs"].replace('"exp_kernel"', '"exp_v2"')}
    object_id = commit_files(Path(repository.location), changed)
    later = Commit.objects.create(repository=repository, object_id=object_id)
    report = written(repository, later, since=commit)
    assert [one["symbol"] for one in report.document["functions"]] == ["mini_gpu::ops::gpu_exp"]


def test_a_function_that_is_not_there_is_told(workspace: tuple[Repository, Commit]) -> None:
    report = written(*workspace, symbol="gpu_sin")
    assert report.state == RowState.FAILED and "no function `gpu_sin`" in report.failure_reason


def test_a_report_is_of_one_thing(workspace: tuple[Repository, Commit]) -> None:
    repository, commit = workspace
    for what in ({}, {"symbol": " "}, {"symbol": RELU, "since": commit}, {"since": commit}):
        with pytest.raises(MachineryError):
            mechanical_report_create(repository=repository, commit=commit, actor=None, **what)

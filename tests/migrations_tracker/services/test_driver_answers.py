"""What a driver answered to a commit's PTX changes what its sites say, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import ProgrammingError, transaction

from audit.models import DriverAnswer, Repository, RowState, ScanRun, SiteState
from audit.services.driver_answers import driver_label
from audit.services.scan_requests import commit_locate, scan_run_request
from audit.services.scan_runs import scan_run_execute
from migrations_tracker.services.follow_up import scan_run_follow_up
from migrations_tracker.services.verification_follow_up import driver_answers_hear, verification_follow_up
from tests.git import commit_files
from tests.workers.machines import make_outcome, make_runner, signed
from tests.workers.workspace import FILES, make_workspace
from workers.errors import OutcomeRefusedError
from workers.models import RequestTarget, Runner, VerificationJob
from workers.protocol.evidence import PtxReading
from workers.protocol.job import PtxText
from workers.services import jobs
from workers.services.jobs import jobs_dispatch
from workers.services.outcomes import cuda_version, outcome_accept
from workers.services.requests import verification_request_create, verification_request_execute

pytestmark = pytest.mark.django_db(transaction=True)
HEAD = ".version 7.0\\n.target sm_80\\n.address_size 64\\n"
PTX = f"""
pub const SUM_PTX: &str = "{HEAD}.visible .entry sum() {{ rte; }}\\n";
pub const NOP_PTX: &str = "{HEAD}.visible .entry nop() {{ ret; }}\\n";
"""
REFUSED = (218, "CUDA_ERROR_INVALID_PTX", "ptxas application ptx input, line 4; error   : Unknown 'nop'")
LOADED = (0, "", "")
Said = Mapping[str, tuple[int, str, str]]


@pytest.fixture
def repository(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository with two PTX constants, one of which the assembler rejects, scanned."""
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    made, _ = make_workspace(tmp_path)
    lib = {"mini-gpu/src/lib.rs": FILES["mini-gpu/src/lib.rs"] + PTX}
    commit_files(Path(made.location), lib)
    commit, branch = commit_locate(repository=made, revision="")
    scan(scan_run_request(repository=made, commit=commit, branch=branch, actor=None))
    return made


def scan(scan_run: ScanRun) -> None:
    scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
    scan_run.refresh_from_db()
    assert scan_run.state == RowState.SUCCEEDED, scan_run.failure_reason


def scans_waiting() -> list[ScanRun]:
    return list(ScanRun.objects.filter(state=RowState.PENDING))


def ptx_job(repository: Repository) -> tuple[VerificationJob, Runner]:
    commit, _ = commit_locate(repository=repository, revision="")
    wish = verification_request_create(
        repository=repository, commit=commit, target=RequestTarget.PTX, actor=None
    )
    (job,) = verification_request_execute(pk=wish.pk)
    runner = Runner.objects.first() or make_runner()
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    return job, runner


def load(repository: Repository, said: Said) -> None:
    """Have a runner load the commit's PTX on a driver that says this."""
    job, runner = ptx_job(repository)
    readings = tuple(reading(PtxText(text["name"], text["text"]), said) for text in job.spec["ptx"])
    outcome = replace(make_outcome(job), ptx=readings, canaries=())
    outcome_accept(runner=runner, job_id=job.pk, raw=signed(outcome, runner), after=verification_follow_up)


def reading(text: PtxText, said: Said) -> PtxReading:
    result, error, log = said[text.name.rpartition("::")[2]]
    return PtxReading(text.name, text.sha256, result == 0, result, error, log, "NVIDIA H100", "13000")


def sites() -> dict[str, SiteState]:
    return {
        state.symbol.rpartition("::")[2]: state for state in SiteState.objects.filter(site__rule_id="FT017")
    }


def test_a_text_that_the_driver_loads_closes_its_site_and_one_that_it_refuses_opens_one(
    repository: Repository,
) -> None:
    assert {name: state.is_open for name, state in sites().items()} == {"SUM_PTX": True}
    load(repository, {"SUM_PTX": LOADED, "NOP_PTX": REFUSED})
    assert driver_answers_hear() == 1
    (again,) = scans_waiting()
    scan(again)
    found = sites()
    assert {name: state.is_open for name, state in found.items()} == {"SUM_PTX": False, "NOP_PTX": True}
    assert found["SUM_PTX"].outcome == "device-kernel"
    assert "the driver refuses `NOP_PTX` (NVIDIA H100, driver for CUDA 13.0)" in found["NOP_PTX"].message
    assert "line 4: Unknown 'nop'" in found["NOP_PTX"].message


def test_what_was_heard_is_not_scanned_again(repository: Repository) -> None:
    load(repository, {"SUM_PTX": REFUSED, "NOP_PTX": LOADED})
    driver_answers_hear()
    for waiting in scans_waiting():
        scan(waiting)
    assert driver_answers_hear() == 0
    assert "always taken" in sites()["SUM_PTX"].message
    load(repository, {"SUM_PTX": REFUSED, "NOP_PTX": LOADED})
    assert DriverAnswer.objects.count() == 2 and driver_answers_hear() == 0


def test_an_answer_that_comes_while_a_scan_waits_is_left_to_the_next_one(repository: Repository) -> None:
    load(repository, {"SUM_PTX": REFUSED, "NOP_PTX": LOADED})
    driver_answers_hear()
    (waiting,) = scans_waiting()
    load(repository, {"SUM_PTX": LOADED, "NOP_PTX": LOADED})
    scan(waiting)
    assert sites()["SUM_PTX"].is_open
    assert driver_answers_hear() == 1
    (last,) = scans_waiting()
    scan(last)
    assert not sites()["SUM_PTX"].is_open


def test_what_is_of_the_machine_is_no_answer_about_the_text(repository: Repository) -> None:
    load(repository, {"SUM_PTX": (2, "CUDA_ERROR_OUT_OF_MEMORY", ""), "NOP_PTX": (209, "NO_BINARY", "")})
    assert driver_label(repository=repository) == "" and driver_answers_hear() == 0


def test_readings_of_texts_that_were_not_asked_are_refused(repository: Repository) -> None:
    job, runner = ptx_job(repository)
    forged = (PtxReading("mini_gpu::SUM_PTX", "f" * 64, True, 0, "", "", "NVIDIA H100", "13000"),)
    outcome = replace(make_outcome(job), ptx=forged, canaries=())
    with pytest.raises(OutcomeRefusedError, match="not the job's"):
        outcome_accept(
            runner=runner, job_id=job.pk, raw=signed(outcome, runner), after=verification_follow_up
        )
    assert not DriverAnswer.objects.exists()


def test_answers_are_added_and_never_changed(repository: Repository) -> None:
    load(repository, {"SUM_PTX": LOADED, "NOP_PTX": LOADED})
    with pytest.raises(ProgrammingError, match="Cannot update"), transaction.atomic():
        DriverAnswer.objects.update(is_loaded=False)


@pytest.mark.parametrize(("number", "version"), [("13000", "13.0"), ("12040", "12.4"), ("", ""), ("x", "x")])
def test_the_drivers_number_is_told_as_a_version(number: str, version: str) -> None:
    assert cuda_version(number) == version

"""The pages of verifications and runners, with a real GPU's data: axe finds nothing, nothing is too wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from audit.models import Commit, Repository, RowState
from audit.scanner.profile import load_profile
from audit.scanner.proof.markdown import as_markdown
from audit.scanner.proof.mechanical import as_document, report_function
from audit.scanner.source.memory import MemorySource
from tests.browser.looking import faults, logged_in
from tests.workers.machines import UNABLE, make_job, make_runner, make_test, signed
from tests.workers.runner.gpuproof import sample_job
from tests.workers.workspace import FILES
from workers.models import (
    MechanicalReport,
    RequestTarget,
    Verification,
    VerificationJob,
    VerificationRequest,
)
from workers.protocol.codec import from_bytes
from workers.protocol.job import BundleRef
from workers.protocol.outcome import Outcome, Verdict
from workers.protocol.report import Heartbeat
from workers.services import jobs
from workers.services.jobs import UNSENT, job_continue, job_create, jobs_dispatch
from workers.services.outcomes import outcome_accept
from workers.services.runners import runner_heartbeat

RECORDED = next((Path(__file__).parents[1] / "workers/runner/recorded").glob("*.json"))


@pytest.fixture
def recorded(sites: None, monkeypatch: pytest.MonkeyPatch) -> VerificationJob:
    """The sample's job with the evidence of a real GPU, taken as a runner's outcome is."""
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    repository = Repository.objects.get()
    outcome = from_bytes(Outcome, RECORDED.read_bytes())
    runner = make_runner("gpu-1")
    assert outcome.probe is not None
    runner_heartbeat(runner=runner, heartbeat=Heartbeat(outcome.runner_version, probe=outcome.probe))
    commit = Commit.objects.create(repository=repository, object_id="0" * 40)
    spec = replace(sample_job("0" * 40, BundleRef("0" * 64)), job_id=UNSENT, lease_id=UNSENT)
    job = job_create(repository=repository, spec=spec, subject="the sample", actor=None, commit=commit)
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    answer = replace(outcome, job_id=str(job.pk), lease_id=str(job.lease_id))
    return outcome_accept(
        runner=runner, job_id=job.pk, raw=signed(answer, runner), after=lambda *_: None, log="1/37\n2/37"
    )


def addresses(job: VerificationJob) -> Iterator[str]:
    """Name the pages: every verdict's, and all that stands around them."""
    for verdict in Verdict:
        yield Verification.objects.filter(job=job, verdict=verdict).earliest("position").get_absolute_url()
    slug = job.repository.slug
    yield from (f"/verifications/?repository={slug}", f"/verifications/?repository={slug}&verdict=on-device")
    yield f"/verifications/?repository={slug}&shows=nothing-proved"
    yield f"/verifications/?repository={slug}&shows=without-gpu"
    yield f"/verifications/nightly/?repository={slug}"
    yield f"/verification-reports/?repository={slug}"
    yield from (each.get_absolute_url() for each in MechanicalReport.objects.all())
    yield from (each.get_absolute_url() for each in VerificationJob.objects.all())
    yield from (each.get_absolute_url() for each in VerificationRequest.objects.all())
    yield from ("/runners/", "/runners/gpu-1/", "/runners/office/")


def store_mechanical_report(job: VerificationJob) -> None:
    """Store the policy's checks of a small crate, as a worker does."""
    source = MemorySource({path: text.encode() for path, text in FILES.items()})
    report = report_function(source, "gpu_relu", profile=load_profile())
    MechanicalReport.objects.create(
        repository=job.repository,
        commit=Commit.objects.get(object_id="0" * 40),
        symbol="gpu_relu",
        state=RowState.SUCCEEDED,
        finished_at=Now(),
        document=as_document(report),
        markdown=as_markdown(report),
    )


def test_nothing_is_found_on_any_page_of_a_verification(
    browser: Browser, live_server: LiveServer, recorded: VerificationJob
) -> None:
    repository = recorded.repository
    office = make_runner("office", is_able=False)
    runner_heartbeat(runner=office, heartbeat=Heartbeat("1", probe=UNABLE))
    make_job(repository, tests=[make_test("waits")])
    make_job(repository, tests=[make_test("of_a_fork")], wants_approval=True)
    VerificationJob.objects.filter(pk=recorded.pk).update(
        outcome_state="cut-short", outcome_reason="the 90 s on a device were over after 30 of 37 tests"
    )
    job_continue(job=recorded, done=30)
    store_mechanical_report(recorded)
    VerificationRequest.objects.create(
        repository=repository,
        commit=Commit.objects.get(object_id="0" * 40),
        target=RequestTarget.CHANGE,
        text="f" * 40,
        state=RowState.PENDING,
    )
    page = logged_in(browser, live_server, User.objects.get(username="root"))
    found: list[str] = []
    for address in addresses(recorded):
        page.goto(f"{live_server.url}{address}")
        found += faults(page)
    page.context.close()
    assert found == []

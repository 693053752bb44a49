"""Runners reach what is theirs, with their token, in sizes that are capped, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from audit.models import RowState
from migrations_tracker.api import runners as api
from tests.factories import make_repository
from tests.workers.machines import (
    ABLE,
    make_bundle_file,
    make_job,
    make_outcome,
    make_runner,
    signed,
)
from workers.models import Runner, VerificationJob
from workers.protocol.codec import canonical_bytes
from workers.protocol.report import Heartbeat
from workers.services import jobs
from workers.services.bundles import bundle_keep
from workers.services.jobs import jobs_dispatch

TOKEN = "token of rack-1"

pytestmark = pytest.mark.django_db


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    return make_runner()


@pytest.fixture
def job(runner: Runner, settings: LazySettings, tmp_path: Path) -> VerificationJob:
    settings.BUNDLES_DIR = tmp_path / "bundles"
    repository = make_repository()
    bundle = bundle_keep(repository=repository, file=make_bundle_file(tmp_path), actor=None)
    made = make_job(repository, bundle=bundle)
    assert jobs_dispatch() == 1
    made.refresh_from_db()
    return made


def post(client: Client, path: str, body: bytes, token: str = TOKEN) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"}
    response = client.post(path, body, content_type="application/json", headers=headers)
    return response.status_code, response.json()


def get(client: Client, path: str, token: str = TOKEN) -> int:
    return client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code


@pytest.mark.parametrize("token", ["", "wrong", "token of rack-9"])
def test_nothing_is_answered_without_a_runners_token(
    client: Client, job: VerificationJob, token: str
) -> None:
    base = f"/api/runner/jobs/{job.pk}"
    assert get(client, f"{base}/bundle?lease={job.lease_id}", token) == 401
    assert get(client, f"{base}/source?lease={job.lease_id}", token) == 401
    assert post(client, f"{base}/log?lease={job.lease_id}", b"x", token)[0] == 401
    assert post(client, f"{base}/outcome", b"x", token)[0] == 401
    assert post(client, "/api/runner/heartbeat", canonical_bytes(Heartbeat("1")), token)[0] == 401
    assert post(client, "/api/runner/register", canonical_bytes(ABLE), token)[0] == 401


def test_a_runner_fetches_the_bundle_of_its_own_job(client: Client, job: VerificationJob) -> None:
    response = client.get(
        f"/api/runner/jobs/{job.pk}/bundle?lease={job.lease_id}",
        headers={"Authorization": "Bearer token of rack-1"},
    )
    assert job.bundle is not None
    assert response.headers["X-Content-SHA256"] == job.bundle.sha256
    assert len(b"".join(response.streaming_content)) == job.bundle.size_bytes  # type: ignore[attr-defined]


def test_another_runners_job_is_not_there(client: Client, job: VerificationJob) -> None:
    make_runner("rack-2")
    base = f"/api/runner/jobs/{job.pk}"
    assert get(client, f"{base}/bundle?lease={job.lease_id}", "token of rack-2") == 409
    assert get(client, f"{base}/bundle?lease={'0' * 32}") == 409
    assert post(client, f"{base}/log?lease={job.lease_id}", b"x", "token of rack-2")[0] == 409
    assert post(client, f"{base}/outcome", b"x", "token of rack-2")[0] == 409


def test_a_signed_outcome_is_taken_and_a_late_one_refused(
    client: Client, runner: Runner, job: VerificationJob
) -> None:
    raw = signed(make_outcome(job, "relu_kernel"), runner)
    path = f"/api/runner/jobs/{job.pk}/outcome"
    assert post(client, path, raw) == (200, {"state": "succeeded"})
    status, said = post(client, path, raw)
    assert status == 409 and "refused" in said["error"]


def test_a_log_is_kept_under_the_lease(client: Client, job: VerificationJob) -> None:
    assert post(client, f"/api/runner/jobs/{job.pk}/log?lease={job.lease_id}", b"1/1\0")[0] == 200
    job.refresh_from_db()
    assert job.log.startswith("1/1") and job.state == RowState.RUNNING


def test_what_is_too_large_is_not_read(
    client: Client, job: VerificationJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "MAX_LOG_BYTES", 10)
    status, said = post(client, f"/api/runner/jobs/{job.pk}/log?lease={job.lease_id}", b"x" * 11)
    assert status == 413 and "limit here is 10" in said["error"]


def test_a_malformed_heartbeat_is_told_where_it_is_malformed(client: Client, runner: Runner) -> None:
    status, said = post(client, "/api/runner/heartbeat", b'{"runner_version": 3}')
    assert status == 400 and "runner_version" in said["error"]


def test_a_heartbeat_says_whether_the_lease_holds(client: Client, job: VerificationJob) -> None:
    held = canonical_bytes(Heartbeat("1", str(job.pk), str(job.lease_id)))
    assert post(client, "/api/runner/heartbeat", held)[1] == {"standing": "enabled", "is_lease_held": True}
    VerificationJob.objects.filter(pk=job.pk).update(
        state=RowState.CANCELLED, lease_id=None, lease_expires_at=None, finished_at=job.created_at
    )
    assert post(client, "/api/runner/heartbeat", held)[1]["is_lease_held"] is False

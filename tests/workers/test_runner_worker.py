"""The whole path: a job in the database, a real broker, a real runner process, and its outcome back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import redis
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from audit.models import Commit, Repository, RepositoryKind, RowState
from migrations_tracker.services.verification_follow_up import verification_follow_up
from tests.factories import make_repository, make_user
from tests.git import commit_files
from tests.toolchain import rust_program
from tests.workers.machines import HARNESS, make_bundle_file, make_job
from tests.workers.runner.gpuproof import CRATE, sample, sample_job
from tests.workers.tls import has_openssl, tls_door
from tests.workers.workspace import make_workspace
from workers.models import Runner, TestBundle, Verification, VerificationJob
from workers.protocol.codec import canonical_bytes
from workers.protocol.job import BundleRef, SourceArchive
from workers.protocol.outcome import Verdict
from workers.protocol.report import Report, key_prefix_of, queue_of, reply_key_of
from workers.runner.configuration import write_configuration
from workers.runner.manifest import TestBinary
from workers.runner.probe.conclusions import RUN_ON_DEVICE
from workers.runner.probe.machine import probe_machine
from workers.runner.server import register
from workers.services.broker import broker_admit, job_send
from workers.services.bundles import bundle_keep, bundle_place
from workers.services.jobs import UNSENT, job_create, jobs_dispatch, leased_spec
from workers.services.reports import reports_collect, runners_admit
from workers.services.runners import runner_add

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        probe_machine().inability(RUN_ON_DEVICE) is None,
        reason="this machine has a device, so nothing ends in `no-device`",
    ),
]


@dataclass(slots=True)
class RunnerProcess:
    """A runner in a process of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def wait_until(is_so: Callable[[], bool], what: str, runner: RunnerProcess | None = None) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if is_so():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not come about\n{runner.said()[-4000:] if runner else ''}")


def probed_at(name: str) -> datetime | None:
    """Return when a runner last told its readings: what its first heartbeat stores last."""
    return Runner.objects.get(name=name).probed_at


def serve(place: Path, name: str, environment: Mapping[str, str]) -> RunnerProcess:
    """Start a runner that is registered."""
    log = place / f"{name}-{time.monotonic_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "workers.runner_worker"],
            cwd=ROOT,
            stdout=output,
            stderr=output,
            env={
                "PATH": os.environ["PATH"],
                "RUNNER_CONFIG": str(place / f"{name}.env"),
                "RUNNER_WORK": str(place / name),
                "RUNNER_CACHE": str(place / f"{name}-cache"),
                **environment,
            },
        )
    return RunnerProcess(process, log)


@pytest.fixture
def place(settings: LazySettings, tmp_path: Path) -> Iterator[Path]:
    """A folder that the user of tested code may pass through."""
    settings.BUNDLES_DIR = tmp_path / "bundles"
    with tempfile.TemporaryDirectory(prefix="ferroaudit-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@pytest.fixture
def start(broker: str, live_server: LiveServer, place: Path) -> Iterator[Callable[..., RunnerProcess]]:
    """Give a function that registers a runner over HTTP and starts it; all end with the test."""
    started: list[RunnerProcess] = []

    def begin(name: str, *, server: bool = True, door: str = "", **environment: str) -> RunnerProcess:
        _, token = runner_add(name=name, actor=make_user(f"owner-of-{name}"))
        registration = register(live_server.url, token, probe_machine())
        address = (door or live_server.url) if server else ""
        write_configuration(place / f"{name}.env", registration, address)
        registered = probed_at(name)
        runner = serve(place, name, environment)
        started.append(runner)
        wait_until(lambda: " ready." in runner.said(), "the runner", runner)
        if server:
            # A request under way when a test ends would be answered from a database that is being emptied.
            wait_until(lambda: probed_at(name) != registered, "its first heartbeat", runner)
        return runner

    yield begin
    for runner in started:
        if runner.process.poll() is None:
            runner.kill()


@pytest.fixture
def repository() -> Repository:
    return make_repository()


def keep_bundle(repository: Repository, folder: Path, script: str = HARNESS) -> TestBundle:
    return bundle_keep(repository=repository, file=make_bundle_file(folder, script), actor=None)


def is_over(job: VerificationJob) -> bool:
    job.refresh_from_db()
    return job.is_over


def test_without_a_device_a_job_goes_all_the_way_to_no_device_with_its_reading(
    start: Callable[..., RunnerProcess], repository: Repository, place: Path
) -> None:
    runner = start("rack-1")
    job = make_job(repository, bundle=keep_bundle(repository, place))
    assert jobs_dispatch() == 1
    wait_until(lambda: is_over(job), "the outcome", runner)
    assert (job.state, job.outcome_state) == (RowState.SUCCEEDED, "no-device"), job.failure_reason
    inability = next(i for i in job.probe["inabilities"] if i["what"] == RUN_ON_DEVICE)
    reading = next(r for r in job.probe["readings"] if r["name"] == inability["reading"])
    assert inability["because"] in job.outcome_reason and reading["output"] in job.outcome_reason
    verification = job.verifications.get()
    assert (verification.verdict, verification.passes_without_gpu) == (Verdict.NO_DEVICE, True)
    assert job.runner is not None and job.runner.readings.filter(name=inability["reading"]).exists()


@pytest.mark.skipif(rust_program("cargo") is None or not has_openssl(), reason="no cargo, or no openssl")
def test_without_a_bundle_the_source_comes_by_https_and_is_built_there(
    start: Callable[..., RunnerProcess], live_server: LiveServer, place: Path, tmp_path: Path
) -> None:
    work = tmp_path / "gpuproof"
    commit_files(work, {"README": "The sample."})
    shutil.copytree(CRATE, work, ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)
    object_id = commit_files(work, {})
    repository = make_repository("sample", kind=RepositoryKind.GIT_PATH, location=str(work))
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    spec = replace(
        sample_job(object_id, BundleRef("0" * 64)),
        job_id=UNSENT,
        lease_id=UNSENT,
        bundle=None,
        source=SourceArchive(),
    )
    job = job_create(repository=repository, spec=spec, subject="the sample", actor=None, commit=commit)
    with tls_door(tmp_path, live_server.thread.host, live_server.thread.port) as (address, certificate):
        runner = start("rack-1", door=address, SSL_CERT_FILE=str(certificate))
        assert jobs_dispatch() == 1
        wait_until(lambda: is_over(job), "the outcome", runner)
    assert (job.state, job.outcome_state) == (RowState.SUCCEEDED, "no-device"), job.failure_reason
    inability = next(i for i in job.probe["inabilities"] if i["what"] == RUN_ON_DEVICE)
    reading = next(r for r in job.probe["readings"] if r["name"] == inability["reading"])
    assert reading["output"] in job.outcome_reason
    manifest = job.bundle_manifest
    assert (manifest["commit"], manifest["repository"]) == (object_id, "source archive")
    assert " test -p gpuproof " in manifest["command"] and "--no-run" in manifest["command"]
    found = dict(job.verifications.values_list("test", "verdict"))
    assert len(found) == len(sample().tests)
    assert found.pop("lgamma_runs_on_the_device") == Verdict.NOT_BUILT
    assert set(found.values()) == {Verdict.NO_DEVICE}


def test_without_a_server_everything_goes_by_the_broker(
    start: Callable[..., RunnerProcess], repository: Repository, place: Path
) -> None:
    bundle = keep_bundle(repository, place)
    folder = place / "carried"
    folder.mkdir()
    (folder / f"{bundle.sha256}.tar").write_bytes((place / "bundle.tar").read_bytes())
    runner = start("rack-1", server=False, RUNNER_BUNDLES=str(folder))
    # The clock does this every few seconds: it must not cut off the runner that listens.
    runners_admit()
    job = make_job(repository, bundle=bundle)
    assert jobs_dispatch() == 1

    def came() -> bool:
        reports_collect(after=verification_follow_up)
        return is_over(job)

    wait_until(came, "the outcome", runner)
    assert job.outcome_state == "no-device" and job.verifications.count() == 1


def test_the_job_of_a_killed_runner_goes_to_another_and_its_late_outcome_is_refused(
    start: Callable[..., RunnerProcess], repository: Repository, place: Path
) -> None:
    flag = place / "begun"
    script = f"#!/bin/sh\n: > {flag} 2>/dev/null\nsleep 300\n"
    flag.touch()
    flag.chmod(0o666)
    begun = flag.stat().st_mtime_ns
    first = start("rack-1")
    job = make_job(repository, bundle=keep_bundle(repository, place, script))
    assert jobs_dispatch() == 1
    wait_until(lambda: flag.stat().st_mtime_ns != begun, "the test", first)
    job.refresh_from_db()
    spec = leased_spec(job=job, lease_id=job.lease_id) if job.lease_id else None
    first.kill()
    start("rack-2")
    VerificationJob.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    Runner.objects.filter(name="rack-1").update(last_seen_at=timezone.now() - timedelta(minutes=5))
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    assert job.runner is not None and job.runner.name == "rack-2" and job.attempts == 2
    assert spec is not None and spec.lease_id != str(job.lease_id)
    # The first runner comes back and finds the old message: its lease is lost, so it leaves the job alone.
    before = probed_at("rack-1")
    back = serve(place, "rack-1", {})
    try:
        job_send(runner=Runner.objects.get(name="rack-1"), document=canonical_bytes(spec).decode())
        wait_until(lambda: "is lost, the job is left alone" in back.said(), "the refusal", back)
        wait_until(lambda: probed_at("rack-1") != before, "its first heartbeat", back)
    finally:
        back.kill()


def test_a_malformed_job_ends_with_a_clear_state_and_the_runner_lives(
    start: Callable[..., RunnerProcess], repository: Repository, place: Path
) -> None:
    runner = start("rack-1")
    job = make_job(repository, bundle=keep_bundle(repository, place))
    machine = Runner.objects.get(name="rack-1")
    for nonsense in ("", "[]", "[" * 50_000, '{"job_id": 7}'):
        job_send(runner=machine, document=nonsense)
    assert jobs_dispatch() == 1
    wait_until(lambda: is_over(job), "the outcome", runner)
    assert job.outcome_state == "no-device" and runner.process.poll() is None


def test_a_bundle_whose_paths_leave_its_folder_is_refused_by_the_runner_too(
    start: Callable[..., RunnerProcess], repository: Repository, place: Path
) -> None:
    runner = start("rack-1")
    bundle = keep_bundle(repository, place)
    evil = place / "evil.tar"
    with tarfile.open(place / "bundle.tar") as old, tarfile.open(evil, "w") as new:
        for member in old.getmembers():
            stream = old.extractfile(member)
            new.addfile(member, stream)
        new.addfile(tarfile.TarInfo("../../escaped"))
    digest = hashlib.sha256(evil.read_bytes()).hexdigest()
    TestBundle.objects.filter(pk=bundle.pk).update(sha256=digest)
    evil.rename(bundle_place(digest))
    bundle.refresh_from_db()
    job = make_job(repository, bundle=bundle)
    assert jobs_dispatch() == 1
    wait_until(lambda: is_over(job), "the outcome", runner)
    assert (job.state, job.outcome_state) == (RowState.FAILED, "refused")
    assert "does not stay in the bundle" in job.failure_reason
    assert not (place / "escaped").exists() and runner.process.poll() is None


def test_a_forged_report_under_the_reply_key_is_refused_and_the_next_one_taken(
    start: Callable[..., RunnerProcess], broker: str, repository: Repository, place: Path
) -> None:
    runner = start("rack-1")
    runner.kill()
    job = make_job(repository, bundle=keep_bundle(repository, place))
    jobs_dispatch()
    job.refresh_from_db()
    forged = {"key_id": "rack-1.1", "signature": "0" * 64, "algorithm": "hmac-sha256", "outcome": {}}
    with redis.Redis.from_url(broker) as client:
        for raw in (b"nonsense", canonical_bytes(Report(outcome=json.dumps(forged)))):
            client.rpush(reply_key_of("rack-1"), raw)
    assert reports_collect(after=verification_follow_up) == 2
    job.refresh_from_db()
    assert job.state == RowState.RUNNING and not job.verifications.exists()


def test_a_runner_sees_its_own_queue_only(start: Callable[..., RunnerProcess], place: Path) -> None:
    start("rack-1")
    address = next(
        line.partition("=")[2]
        for line in (place / "rack-1.env").read_text().splitlines()
        if line.startswith("RUNNER_BROKER_URL=")
    )
    with redis.Redis.from_url(address) as client:
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.llen(f"{key_prefix_of('rack-2')}{queue_of('rack-2')}")
        assert client.llen(f"{key_prefix_of('rack-1')}{queue_of('rack-1')}") == 0
        for command in (
            ("SCAN", "0"),
            ("RANDOMKEY",),
            ("DBSIZE",),
            ("KEYS", "*"),
            ("SELECT", "1"),
            ("FLUSHALL",),
            ("CONFIG", "GET", "*"),
            ("ACL", "LIST"),
            ("FUNCTION", "FLUSH"),
            ("EVAL", "return redis.call('GET', KEYS[1])", "1", "celery"),
        ):
            with pytest.raises(redis.exceptions.ResponseError, match=r"(?i)permission|ACL"):
                client.execute_command(*command)


def test_a_broker_that_was_started_anew_lets_runners_in_again(
    start: Callable[..., RunnerProcess], broker: str, place: Path
) -> None:
    start("rack-1").kill()
    runner = Runner.objects.get(name="rack-1")
    with redis.Redis.from_url(broker) as client:
        client.execute_command("ACL", "DELUSER", "runner-rack-1")
        broker_admit(runner=runner)
        assert b"runner-rack-1" in client.execute_command("ACL", "USERS")


def test_a_button_on_a_page_leads_all_the_way_to_a_verdict(
    start: Callable[..., RunnerProcess],
    start_worker: Callable[..., object],
    client: Client,
    place: Path,
    tmp_path: Path,
) -> None:
    repository, commit = make_workspace(tmp_path)
    file = make_bundle_file(
        place,
        commit=commit.object_id,
        crate="mini-gpu",
        binaries=(TestBinary("mini_gpu", "bin/unit", "unit", ("ops::tests::relu_matches_the_host",)),),
    )
    bundle_keep(repository=repository, file=file, actor=None)
    start("rack-1")
    start_worker(environment={"SCAN_CACHE_DIR": str(tmp_path / "cache")})
    person = make_user()
    client.force_login(person)
    asked = {"repository": repository.slug, "target": "function", "text": "gpu_relu", "revision": "main"}
    page = client.post("/verifications/ask/", asked).headers["Location"]
    wait_until(lambda: Verification.objects.count() == 2, "the verdicts")
    found = dict(Verification.objects.values_list("test", "verdict"))
    assert found == {
        "ops::tests::relu_matches_the_host": Verdict.NO_DEVICE,
        "ops::tests::relu_of_half_is_refused": Verdict.NO_DEVICE,
    }
    job = VerificationJob.objects.get()
    assert (job.requested_by, job.outcome_state) == (person, "no-device")
    assert "no-device" in client.get(page).content.decode()
    verification = Verification.objects.earliest("position")
    assert "no device" in client.get(verification.get_absolute_url()).content.decode()

"""A runner that serves does what its lease covers, and nothing for a lease that is lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.workers.machines import PASSED, make_bundle_file
from tests.workers.runner.test_job import JOB, NO_DEVICE
from workers.protocol.codec import canonical_bytes
from workers.protocol.job import BundleRef, JobSpec
from workers.protocol.outcome import JobState
from workers.protocol.report import Heartbeat, HeartbeatAnswer, Standing
from workers.runner.bundle import sha256_of
from workers.runner.configuration import Configuration
from workers.runner.server import ServerError
from workers.runner.serving import Serving

SLOW = f"#!/bin/sh\nsleep 0.3\necho '{PASSED.strip()}'\n"


@dataclass
class Server:
    """A server that keeps a lease for some heartbeats."""

    bundle: Path
    keeps: int = 1_000_000
    problem: str = ""
    delivered: list[str] = field(default_factory=list)

    def beat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        self.keeps -= 1
        return HeartbeatAnswer(Standing.ENABLED, self.keeps >= 0)

    def deliver(self, job_id: str, lease_id: str, document: bytes, text: str) -> None:
        self.delivered.append(text)

    def fetch(self, job: JobSpec, target: Path) -> Path:
        target.write_bytes(self.bundle.read_bytes()[: 100 if self.problem else None])
        if self.problem:
            raise ServerError(self.problem)
        return target


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(make_bundle_file(tmp_path, SLOW))


def serving(server: Server, folder: Path) -> Serving:
    configuration = Configuration("rack-1", b"k" * 32, "rack-1.1", "", folder / "work", folder / "cache")
    return Serving(configuration, server, probe=lambda: NO_DEVICE, heartbeat_s=0.05)


def job_of(server: Server, tests: int) -> bytes:
    bundle = BundleRef(sha256_of(server.bundle))
    return canonical_bytes(replace(JOB, bundle=bundle, tests=(JOB.tests[0],) * tests))


def test_a_job_that_is_cancelled_ends_before_its_next_test(server: Server, open_folder: Path) -> None:
    server.keeps = 3
    outcome = serving(server, open_folder).do(job_of(server, 40))
    assert outcome is not None and outcome.state is JobState.FAILED
    assert outcome.reason == "the lease was lost while the job ran" and server.delivered == []


def test_a_job_whose_lease_is_lost_already_is_left_alone(server: Server, open_folder: Path) -> None:
    server.keeps = 0
    assert serving(server, open_folder).do(job_of(server, 1)) is None


def test_a_runner_that_lost_one_lease_does_the_next_job(server: Server, open_folder: Path) -> None:
    runner = serving(server, open_folder)
    server.keeps = 3
    runner.do(job_of(server, 40))
    server.keeps = 1_000_000
    outcome = runner.do(job_of(server, 1))
    assert outcome is not None and outcome.state is JobState.NO_DEVICE and server.delivered == ["1/1"]


def test_half_a_bundle_is_told_as_not_fetched(server: Server, open_folder: Path) -> None:
    server.problem = "the connection broke"
    outcome = serving(server, open_folder).do(job_of(server, 1))
    assert outcome is not None and outcome.state is JobState.REFUSED and "is not here" in outcome.reason
    assert server.delivered == ["fetching what the job needs: the connection broke"]

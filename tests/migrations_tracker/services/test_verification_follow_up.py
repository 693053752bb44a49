"""Proof from a GPU moves what is migrated on to verified, and nothing else does."""

from __future__ import annotations

import dataclasses

import pytest

from audit.models import FallbackSite, Repository, ScanRun, SiteState
from audit.scanner.report import Outcome, SiteOutcome
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration, Transition
from migrations_tracker.services import verification_follow_up as verification_follow_up_module
from migrations_tracker.services.verification_follow_up import verification_follow_up
from tests.factories import ingest, make_report, make_repository, make_result
from tests.workers.machines import make_job, make_outcome, make_runner, signed
from workers.models import Runner, Verification, VerifiedFunction
from workers.services import expiry, jobs
from workers.services.jobs import FunctionProof, jobs_dispatch
from workers.services.outcomes import outcome_accept

pytestmark = pytest.mark.django_db
SYMBOL = "minitorch_gpu::ops::relu"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository whose one site was seen, and is migrated: it became a device kernel."""
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    made = make_repository()
    ingest(made, make_report([make_result(SYMBOL)]))
    gone = make_report(files=["minitorch-gpu/src/ops.rs"])
    told = SiteOutcome(Outcome.DEVICE_KERNEL, "`relu` runs on the device")
    ingest(made, dataclasses.replace(gone, outcomes={FallbackSite.objects.get().pk: told}))
    SiteMigration.objects.update(status=Status.MIGRATED.value)
    return made


def verify(repository: Repository, *kernels: str, symbol: str = SYMBOL) -> SiteMigration:
    runner = Runner.objects.first() or make_runner()
    job = make_job(repository, functions={0: [FunctionProof(symbol, "d" * 64, ("relu_kernel",))]})
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    raw = signed(make_outcome(job, *kernels), runner)
    outcome_accept(runner=runner, job_id=job.pk, raw=raw, after=verification_follow_up)
    return SiteMigration.objects.get()


def test_proof_of_its_function_makes_a_migrated_site_verified(repository: Repository) -> None:
    migration = verify(repository, "relu_kernel")
    assert migration.status == Status.VERIFIED
    step = Transition.objects.latest("id")
    assert (step.cause, step.actor, step.from_status) == ("gpu", None, "migrated")
    assert "on-device" in step.reason


def test_a_test_that_ran_nothing_proves_nothing(repository: Repository) -> None:
    assert verify(repository).status == Status.MIGRATED


def test_proof_of_another_function_moves_nothing(repository: Repository) -> None:
    assert verify(repository, "relu_kernel", symbol="minitorch_gpu::ops::exp").status == Status.MIGRATED


def test_a_site_that_the_scanner_sees_is_not_verified_whatever_ran(repository: Repository) -> None:
    ingest(repository, make_report([make_result(SYMBOL)]))
    SiteMigration.objects.update(status=Status.MIGRATED.value)
    assert verify(repository, "relu_kernel").status == Status.MIGRATED


@pytest.mark.parametrize("status", [Status.OPEN, Status.IN_REVIEW, Status.REOPENED])
def test_what_is_not_migrated_stays_where_it_is(repository: Repository, status: Status) -> None:
    SiteMigration.objects.update(status=status.value)
    assert verify(repository, "relu_kernel").status == status


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("structured-error", "migrated"),
        ("opt-in-fallback", "migrated"),
        ("device-kernel", "verified"),
        ("composite", "verified"),
        ("removed", "verified"),
        ("", "verified"),
    ],
)
def test_a_kernel_that_ran_verifies_only_what_it_bears_out(
    repository: Repository, outcome: str, status: str
) -> None:
    SiteState.objects.update(outcome=outcome)
    assert verify(repository, "relu_kernel").status == status


def test_the_same_test_on_the_same_code_that_shows_the_contrary_ends_verified(repository: Repository) -> None:
    verify(repository, "relu_kernel")
    migration = verify(repository)
    assert (migration.status, migration.version) == ("migrated", 4)
    step = Transition.objects.latest("id")
    assert (step.from_status, step.cause) == ("verified", "gpu")
    assert "no-kernel" in step.reason
    assert verify(repository, "relu_kernel").status == Status.VERIFIED


# -- proof that expires takes the site out of verified -------------------------------------------------------


def expire(monkeypatch: pytest.MonkeyPatch, repository: Repository, *pks: int) -> ScanRun:
    """Have a scan see that the code of these proofs changed."""
    monkeypatch.setattr(expiry, "_reasons", lambda scan_run, standing: {expiry.CHANGED: list(pks)})
    scan_run = ScanRun.objects.filter(repository=repository).latest("id")
    verification_follow_up_module.proof_expire(scan_run=scan_run)
    return scan_run


def test_proof_that_expires_takes_its_site_out_of_verified(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    migration = verify(repository, "relu_kernel")
    scan_run = expire(monkeypatch, repository, VerifiedFunction.objects.get().pk)
    migration.refresh_from_db()
    assert migration.status == Status.MIGRATED
    step = Transition.objects.latest("id")
    assert (step.from_status, step.cause, step.scan_run, step.actor) == (
        "verified",
        "scanner",
        scan_run,
        None,
    )
    assert "not the code that ran" in step.reason
    count = Transition.objects.count()
    expire(monkeypatch, repository, VerifiedFunction.objects.get().pk)
    assert Transition.objects.count() == count


def test_a_site_stays_verified_while_other_proof_of_its_function_stands(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify(repository, "relu_kernel")
    first = VerifiedFunction.objects.get()
    other = Verification.objects.get()
    other.pk, other.position = None, 1
    other.save()
    VerifiedFunction.objects.create(verification=other, symbol=SYMBOL, digest="e" * 64)
    expire(monkeypatch, repository, first.pk)
    assert SiteMigration.objects.get().status == Status.VERIFIED
    expire(monkeypatch, repository, VerifiedFunction.objects.get(digest="e" * 64).pk)
    assert SiteMigration.objects.get().status == Status.MIGRATED


def test_what_expired_is_verified_again_by_a_new_run(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify(repository, "relu_kernel")
    expire(monkeypatch, repository, VerifiedFunction.objects.get().pk)
    assert verify(repository, "relu_kernel").status == Status.VERIFIED

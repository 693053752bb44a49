"""What runners showed of a large repository: 200 jobs of 100 tests, each test run by two of the jobs.

Each verification holds the evidence of a test that launched 120 kernels, and is proof of one site's function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.utils import timezone

if TYPE_CHECKING:
    from audit.models import Branch

JOBS, TESTS = 200, 100
EVENTS = 120
LOADS = 300


def prove(branch: Branch) -> None:
    """Write it all for a branch whose sites are there, and with them runners."""
    from audit.models import SiteState
    from workers.models import (
        MechanicalReport,
        NightlyVerification,
        PtxLoad,
        Runner,
        Verification,
        VerificationJob,
        VerificationRequest,
        VerifiedFunction,
    )

    assert branch.last_scan is not None
    repository, commit = branch.repository, branch.last_scan.commit
    over: dict[str, Any] = {"state": "succeeded", "finished_at": timezone.now()}
    wishes = VerificationRequest.objects.bulk_create(
        VerificationRequest(
            repository=repository,
            commit=commit,
            target="crate",
            text=f"crate-{number}",
            tests=[{"binary": "unit", "name": f"passes_{one}", "reach": "calls it"} for one in range(TESTS)],
            **over,
        )
        for number in range(JOBS)
    )
    runners = list(Runner.objects.all())
    jobs = VerificationJob.objects.bulk_create(
        VerificationJob(
            repository=repository,
            commit=commit,
            request=wishes[number],
            kind="verify",
            subject=f"crate-{number % 22}",
            crate=f"crate-{number % 22}",
            spec={"tests": []},
            runner=runners[number % len(runners)],
            done=TESTS,
            total=TESTS,
            outcome_state="finished",
            runner_version="1",
            log="running 100 tests\n" * 500,
            **over,
        )
        for number in range(JOBS)
    )
    symbols = list(
        SiteState.objects.filter(branch=branch)
        .order_by("site")
        .values_list("symbol", flat=True)[: JOBS * TESTS]
    )
    evidence = {"plain": {"traces": [{"pid": 7, "events": list(_events())}]}}
    for place, job in enumerate(jobs):
        rows = Verification.objects.bulk_create(
            Verification(
                job=job,
                repository=repository,
                commit=commit,
                position=number,
                crate=job.crate,
                binary="unit",
                test=f"ops::passes_{TESTS * (place % 100) + number}",
                verdict="no-kernel" if number % 9 == 0 else "on-device",
                runner_verdict="on-device",
                reason="its kernel ran",
                passes_without_gpu=number % 13 == 0,
                kernels=[f"kernel_{number}"],
                expectation={"kind": "on-device", "kernels": [f"kernel_{number}"]},
                evidence=evidence,
            )
            for number in range(TESTS)
        )
        VerifiedFunction.objects.bulk_create(
            VerifiedFunction(verification=row, symbol=symbols[TESTS * place + row.position], digest="0" * 64)
            for row in rows
        )
    PtxLoad.objects.bulk_create(
        PtxLoad(job=jobs[0], name=f"KERNEL_{number}", sha256=f"{number:064x}", is_loaded=number % 3 > 0)
        for number in range(LOADS)
    )
    MechanicalReport.objects.bulk_create(
        MechanicalReport(
            repository=repository,
            commit=commit,
            symbol=symbols[number],
            is_done=number % 2 == 0,
            document={"functions": []},
            markdown="# Report\n",
            **over,
        )
        for number in range(JOBS)
    )
    NightlyVerification.objects.create(repository=repository, is_on=True)


def _events() -> Iterator[dict[str, Any]]:
    for number in range(EVENTS):
        yield {
            "kind": "launch",
            "sequence": number,
            "at_ns": 1000 * number,
            "name": f"kernel_{number % 7}",
            "grid": "1x1x1",
            "block": "32x1x1",
            "device_ns": 500,
            "result": 0,
        }

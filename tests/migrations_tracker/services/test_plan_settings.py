"""What counts in the weights of a plan's units, and where it is seen."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from audit.models import WorkspaceInventory
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Plan, PlanEvent, WorkUnit
from migrations_tracker.scheduling.problem import PhaseOrder
from migrations_tracker.scheduling.weighting import WeightRates
from migrations_tracker.services.plan_people import person_set
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.plan_settings import plan_settings_set
from migrations_tracker.services.schedules import schedule_request
from tests.factories import make_user
from tests.migrations_tracker.plan_fixture import make_plan
from tests.workers.machines import make_job
from workers.models import PtxLoad

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
DIGEST = "0" * 64


@pytest.fixture
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def ada() -> User:
    return make_user()


def staff(plan: Plan, ada: User) -> None:
    person_set(
        plan=plan,
        name="ada",
        skills=["autograd", "build", "kernel"],
        capacity=1,
        time_zone="UTC",
        hours=[[day, 540, 1020] for day in range(5)],
        actor=ada,
    )


def sweep(plan: Plan) -> WorkUnit:
    """Return the unit that holds the function whose kernel is asked about."""
    return WorkUnit.objects.get(
        plan=plan, rules=["silent-fallback"], members__site__symbol="minitorch_gpu::ops::op3"
    )


def test_what_counts_is_in_the_weights_at_once_and_stays_after_a_proposal(plan: Plan, ada: User) -> None:
    decision = WorkUnit.objects.filter(plan=plan, kind="decision").earliest("pk")
    waiting = dict(decision.weight_parts)
    assert any("wait for it" in reason for reason in waiting)
    rates = WeightRates(base=7, always_taken=3, reach=1, blocks=0)
    plan_settings_set(plan=plan, rates=rates, phase_order=PhaseOrder.OVERLAPPING, actor=ada)
    for _ in range(2):
        decision.refresh_from_db()
        assert decision.weight_parts == [["every unit", 7]]
        assert decision.weight == 7
        plan_propose(repository=plan.repository, actor=None)
    told = PlanEvent.objects.filter(plan=plan, actor=ada).latest("pk").what
    assert "every unit counts 7" in told


def test_what_counted_is_kept_with_the_schedule(plan: Plan, ada: User) -> None:
    staff(plan, ada)
    before = schedule_request(plan=plan, actor=ada, now=MONDAY)
    rates = WeightRates(base=2)
    plan = plan_settings_set(plan=plan, rates=rates, phase_order=PhaseOrder.STRICT, actor=ada)
    after = schedule_request(plan=plan, actor=ada, now=MONDAY)
    assert (before.weight_rates["base"], after.weight_rates["base"]) == (1, 2)
    assert after.problem["phase_order"] == "strict"


@pytest.mark.parametrize("rate", [-1, 1001])
def test_a_rate_is_within_bounds(plan: Plan, ada: User, rate: int) -> None:
    with pytest.raises(PlanError, match="from 0 to 1000"):
        plan_settings_set(
            plan=plan, rates=WeightRates(base=rate), phase_order=PhaseOrder.OVERLAPPING, actor=ada
        )


def test_a_path_whose_ptx_the_driver_refuses_weighs_more_as_one_that_is_always_taken(plan: Plan) -> None:
    WorkspaceInventory.objects.update(
        kernels={"minitorch_gpu::ops::op3": [DIGEST]}, rejected_kernels=[DIGEST]
    )
    plan_propose(repository=plan.repository, actor=None)
    assert ["1 path beside PTX that the assembler rejects", 3] in sweep(plan).weight_parts
    job = make_job(plan.repository)
    reading = PtxLoad.objects.create(job=job, name="x", sha256=DIGEST, is_loaded=False, result=2)
    plan_propose(repository=plan.repository, actor=None)
    assert ["1 path beside PTX that the assembler rejects", 3] in sweep(plan).weight_parts
    PtxLoad.objects.filter(pk=reading.pk).update(result=218)
    plan_propose(repository=plan.repository, actor=None)
    assert ["1 path always taken, as the driver refuses the PTX", 3] in sweep(plan).weight_parts
    PtxLoad.objects.create(job=job, name="x", sha256=DIGEST, is_loaded=True, result=0)
    plan_propose(repository=plan.repository, actor=None)
    assert not any("PTX" in reason for reason, _ in sweep(plan).weight_parts)

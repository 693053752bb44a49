"""Solving a plan: valid before it is stored, never worse than before, and clashes are named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest
from celery import current_app
from django.contrib.auth.models import User

from audit.models import RowState
from migrations_tracker import tasks
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Person, Plan, Precedence, Schedule, ScheduledUnit, WorkUnit
from migrations_tracker.scheduling.problem import OFFICE, Problem, SolveOptions
from migrations_tracker.scheduling.problem import Person as Helper
from migrations_tracker.scheduling.problem import Schedule as Answer
from migrations_tracker.scheduling.stored import from_plain
from migrations_tracker.scheduling.validating import breaches
from migrations_tracker.scheduling.what_if import WhatIf
from migrations_tracker.services import scans, schedules
from migrations_tracker.services.plan_people import absence_add, absence_remove, person_set
from migrations_tracker.services.schedules import (
    baseline_set,
    problem_of_row,
    schedule_execute,
    schedule_newest,
    schedule_request,
)
from migrations_tracker.services.unit_progress import pre_flight_confirm, unit_start
from migrations_tracker.services.work_units import unit_date, unit_pin
from tests.factories import make_repository, make_user
from tests.migrations_tracker.plan_fixture import make_plan
from workers.models import Runner

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
QUICK = SolveOptions(evaluations=60, deterministic_time=0.5)
WEEK = [[window.weekday, window.start_minute, window.end_minute] for window in OFFICE.hours]
SKILLS = ["autograd", "build", "kernel"]


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def plan(ada: User) -> Plan:
    plan = make_plan()
    Runner.objects.create(name="h100", is_able=True)
    for name in ("ada", "bo"):
        person_set(plan=plan, name=name, skills=SKILLS, capacity=1, time_zone="UTC", hours=WEEK, actor=ada)
    return plan


def ask(plan: Plan, change: WhatIf | None = None, now: datetime = MONDAY) -> Schedule:
    return schedule_request(plan=plan, actor=None, change=change, now=now)


def solved(row: Schedule) -> Schedule:
    assert schedule_execute(pk=row.pk, options=QUICK)
    row.refresh_from_db()
    return row


def test_a_first_answer_is_there_at_once_and_valid(plan: Plan) -> None:
    row = ask(plan)
    assert row.state == RowState.PENDING
    assert row.method.startswith("list scheduling")
    assert row.placed.count() == WorkUnit.objects.count()
    assert breaches(problem_of_row(row), from_plain(Answer, row.answer)) == ()


def test_a_worker_improves_it_and_says_how_good_it_is(plan: Plan) -> None:
    first = ask(plan)
    row = solved(ask(plan))
    assert row.state == RowState.SUCCEEDED
    assert row.makespan is not None
    assert row.bound is not None
    assert first.makespan is not None
    assert row.bound <= row.makespan <= first.makespan
    assert row.bound_by
    assert row.forecast["runs"] > 0
    assert list(row.forecast["percentiles"]) == ["10", "50", "80", "90", "95"]
    assert not schedule_execute(pk=row.pk, options=QUICK)


def test_the_task_that_is_sent_for_a_schedule_improves_it(
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    sent: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, kwargs: sent.append((name, kwargs)))
    row = ask(plan)
    with django_capture_on_commit_callbacks(execute=True):
        scans.row_wake(row=row)
    assert sent == [(scans.SCHEDULE_TASK, {"pk": row.pk})]
    assert tasks.schedule_execute.name == scans.SCHEDULE_TASK
    tasks.schedule_execute.run(**sent[0][1])
    row.refresh_from_db()
    assert row.state == RowState.SUCCEEDED


def test_the_same_seed_gives_the_same_schedule(plan: Plan) -> None:
    rows = [solved(ask(plan)), solved(ask(plan))]
    rows[1].earlier = None
    answers = [from_plain(Answer, row.answer) for row in rows]
    assert answers[0].placements == answers[1].placements
    assert not any(row.is_cut_off for row in rows)


def test_a_schedule_that_breaks_a_rule_is_not_stored(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ask(plan)
    before = row.answer

    def wrong(problem: Problem, *_: object) -> Answer:
        answer = from_plain(Answer, before)
        object.__setattr__(answer, "placements", answer.placements[1:])
        return answer

    monkeypatch.setattr(schedules, "solve", wrong)
    with pytest.raises(PlanError, match="every unit is placed"):
        schedule_execute(pk=row.pk, options=QUICK)
    row.refresh_from_db()
    assert (row.state, row.answer) == (RowState.FAILED, before)
    assert "breaks the rule" in row.failure_reason


def test_clashes_are_named_and_nothing_is_placed(plan: Plan, ada: User) -> None:
    Person.objects.update(skills=[])
    row = ask(plan)
    assert (row.state, row.makespan) == (RowState.SUCCEEDED, None)
    assert {conflict["kind"] for conflict in row.conflicts} == {"no-skilled-person"}
    assert not ScheduledUnit.objects.exists()
    assert schedule_newest(plan=plan) is None


def test_a_cycle_is_named_with_its_edges(plan: Plan) -> None:
    edge = Precedence.objects.earliest("pk")
    Precedence.objects.create(before=edge.after, after=edge.before, reason="person", message="the other way")
    conflict = ask(plan).conflicts[0]
    assert conflict["kind"] == "precedence-cycle"
    assert f"precedence {edge.before.key} → {edge.after.key}" in conflict["constraints"]


def test_a_deadline_that_can_not_be_kept_is_named(plan: Plan, ada: User) -> None:
    unit = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    unit_date(unit=unit, deadline=MONDAY + timedelta(minutes=15), actor=ada)
    row = ask(plan)
    assert (row.state, row.makespan) == (RowState.SUCCEEDED, None)
    assert f"deadline of {unit.key}" in row.conflicts[0]["constraints"]


def test_without_a_runner_the_verification_is_left_out_and_that_is_said(plan: Plan) -> None:
    Runner.objects.update(is_able=False)
    row = ask(plan)
    assert not row.placed.exclude(runner="").exists()
    assert any("No runner takes jobs" in note for note in row.notes)


def test_a_pin_is_obeyed(plan: Plan, ada: User) -> None:
    unit = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    start = MONDAY + timedelta(days=14)
    unit_pin(unit=unit, start=start, person=Person.objects.get(name="bo"), actor=ada)
    place = ask(plan).placed.get(unit=unit)
    assert (place.starts_at, place.person and place.person.name) == (start, "bo")


def test_what_is_under_way_keeps_its_person_and_stands_first(plan: Plan, ada: User) -> None:
    ask(plan)
    unit = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    unit.edges_in.all().delete()
    pre_flight_confirm(unit=unit, pre_flight={"map": "filled in"}, open_questions=0, actor=ada)
    unit_start(unit=unit, person=Person.objects.get(name="bo"), actor=ada)
    place = solved(ask(plan, now=MONDAY + timedelta(hours=1))).placed.get(unit=unit)
    assert place.person and place.person.name == "bo"
    assert place.starts_at == MONDAY + timedelta(hours=1)


def test_who_is_away_does_nothing_then(plan: Plan, ada: User) -> None:
    bo = Person.objects.get(name="bo")
    back = MONDAY + timedelta(days=7)
    absence = absence_add(person=bo, starts_at=MONDAY, ends_at=back, reason="leave", actor=ada)
    places = ask(plan).placed.filter(person=bo)
    assert all(place.starts_at >= back for place in places)
    absence_remove(absence=absence, actor=ada)
    assert ask(plan).placed.filter(person=bo, starts_at__lt=back).exists()


def test_a_what_if_leaves_the_plan_s_own_schedule_the_newest(plan: Plan) -> None:
    own = ask(plan)
    helper = Helper("cy", frozenset(SKILLS), OFFICE)
    row = solved(ask(plan, WhatIf(added_people=(helper,))))
    assert row.what_if_text == "`cy` helps with autograd, build, kernel."
    assert schedule_newest(plan=plan) == own
    assert row.makespan is not None
    assert own.makespan is not None
    assert row.makespan <= own.makespan


def test_only_a_schedule_of_the_plan_as_it_was_is_a_baseline(plan: Plan, ada: User) -> None:
    row = ask(plan)
    baseline_set(plan=plan, schedule=row, actor=ada)
    assert Plan.objects.get().baseline == row
    other = ask(plan, WhatIf(dropped_people=frozenset({"bo"})))
    with pytest.raises(PlanError, match="baseline"):
        baseline_set(plan=plan, schedule=other, actor=ada)


def test_a_plan_without_units_has_nothing_to_schedule() -> None:
    plan = Plan.objects.create(repository=make_repository("bare"))
    with pytest.raises(PlanError, match="no unit"):
        ask(plan)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "Ada Lovelace"}, "small letters"),
        ({"capacity": -1}, "Capacity"),
        ({"hours": [[0, 600, 540]]}, "end after"),
        ({"time_zone": "Mars/Olympus"}, "no time zone"),
    ],
)
def test_who_works_is_checked(plan: Plan, ada: User, given: dict[str, object], message: str) -> None:
    person: dict[str, object] = {
        "name": "cy",
        "skills": [],
        "capacity": 1,
        "time_zone": "UTC",
        "hours": WEEK,
    }
    with pytest.raises(PlanError, match=message):
        person_set(plan=plan, actor=ada, **{**person, **given})  # type: ignore[arg-type]

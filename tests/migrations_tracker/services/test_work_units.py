"""What people do to units: each change is checked, told of, and stays."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import ProgrammingError, transaction

from audit.models import FallbackSite
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.models import Person, Plan, PlanEvent, Precedence, UnitMember, WorkUnit
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.units import Phase
from migrations_tracker.selectors.plan_problem import plan_problem
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.unit_progress import pre_flight_confirm, unit_finish, unit_spend, unit_start
from migrations_tracker.services.work_units import (
    members_move,
    unit_add,
    unit_date,
    unit_estimate,
    unit_merge,
    unit_pin,
    unit_rename,
    unit_split,
)
from tests.factories import make_user
from tests.migrations_tracker.plan_fixture import make_plan, results, scan

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)


@pytest.fixture
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def unit(plan: Plan) -> WorkUnit:
    return WorkUnit.objects.filter(plan=plan, rules=["silent-fallback"]).earliest("pk")


@pytest.fixture
def other(plan: Plan) -> WorkUnit:
    return WorkUnit.objects.filter(plan=plan, rules=["host-readback"]).earliest("pk")


@pytest.fixture
def person(plan: Plan) -> Person:
    return Person.objects.create(plan=plan, name="ada", skills=["kernel"], hours=[[0, 540, 1020]])


def told(unit: WorkUnit) -> list[str]:
    return list(PlanEvent.objects.filter(unit_key=unit.key).order_by("-id").values_list("what", flat=True))


def some(unit: WorkUnit, count: int = 2) -> list[int]:
    return list(unit.members.order_by("pk").values_list("pk", flat=True)[:count])


def begin(unit: WorkUnit, person: Person, actor: User) -> WorkUnit:
    unit.edges_in.all().delete()
    pre_flight_confirm(unit=unit, pre_flight={"map": "filled in"}, open_questions=0, actor=actor)
    return unit_start(unit=unit, person=person, actor=actor)


def test_a_renamed_unit_says_who_renamed_it(unit: WorkUnit, ada: User) -> None:
    before = unit.title
    unit = unit_rename(unit=unit, title="  Errors\n first ", actor=ada, seen_version=1)
    assert (unit.title, unit.version, unit.is_edited) == ("Errors first", 2, True)
    event = PlanEvent.objects.get(unit=unit, actor=ada)
    assert event.what == f"Renamed from `{before}`."


def test_a_title_says_something_and_is_no_essay(unit: WorkUnit, ada: User) -> None:
    for title in (" \n ", "x" * 301):
        with pytest.raises(PlanError, match="title"):
            unit_rename(unit=unit, title=title, actor=ada)


def test_who_looked_at_an_older_version_changes_nothing(unit: WorkUnit, ada: User) -> None:
    unit_rename(unit=unit, title="First", actor=ada, seen_version=1)
    with pytest.raises(ChangedMeanwhileError):
        unit_rename(unit=unit, title="Second", actor=ada, seen_version=1)
    unit.refresh_from_db()
    assert unit.title == "First"


def test_a_split_part_waits_for_what_the_whole_waited_for(unit: WorkUnit, ada: User) -> None:
    total = unit.members.count()
    part = unit_split(unit=unit, members=some(unit), title="Two of them", actor=ada)
    unit.refresh_from_db()
    assert (part.item_count, unit.item_count) == (2, total - 2)
    before = set(unit.edges_in.values_list("before", flat=True))
    assert before
    assert set(part.edges_in.values_list("before", flat=True)) == before
    assert told(part) == [f"Split off from `{unit.title}`."]


def test_a_split_takes_some_and_not_all(unit: WorkUnit, ada: User) -> None:
    for members in ([], some(unit, 100)):
        with pytest.raises(PlanError, match="not all of them"):
            unit_split(unit=unit, members=members, title="No", actor=ada)


def test_the_dtypes_of_a_gap_are_moved_together(plan: Plan, unit: WorkUnit, ada: User) -> None:
    member = UnitMember.objects.filter(gap__direction="forward").earliest("pk")
    assert members_move(members=[member.pk], source=member.unit, target=unit, actor=ada) == 2
    assert UnitMember.objects.filter(unit=unit, gap__direction="forward").count() == 2


def test_a_merged_unit_keeps_the_edges_of_both(unit: WorkUnit, other: WorkUnit, ada: User) -> None:
    pairs = set(unit.edges_in.values_list("before", flat=True))
    pairs |= set(other.edges_in.values_list("before", flat=True))
    count = unit.members.count() + other.members.count()
    into = unit_merge(unit=other, into=unit, actor=ada, reason="one file")
    assert set(into.edges_in.values_list("before", flat=True)) == pairs
    assert into.item_count == count
    assert set(into.rules) == {"silent-fallback", "host-readback"}
    assert not WorkUnit.objects.filter(pk=other.pk).exists()


def test_a_decision_is_not_merged_away(plan: Plan, unit: WorkUnit, ada: User) -> None:
    decision = WorkUnit.objects.filter(need_kind="error-variant").earliest("pk")
    with pytest.raises(PlanError, match="decision"):
        unit_merge(unit=decision, into=unit, actor=ada)


def test_what_people_moved_stays_where_they_moved_it(
    plan: Plan, unit: WorkUnit, other: WorkUnit, ada: User
) -> None:
    members_move(members=some(unit), source=unit, target=other, actor=ada)
    held = dict(UnitMember.objects.values_list("pk", "unit_id"))
    plan_propose(repository=plan.repository, actor=None)
    assert dict(UnitMember.objects.values_list("pk", "unit_id")) == held


def test_a_unit_of_ones_own_keeps_its_hours(plan: Plan, ada: User) -> None:
    own = unit_add(
        plan=plan,
        title="Write the guide",
        reason="people ask",
        phase=Phase.REDESIGNS,
        category=FixCategory.ANNOTATION,
        hours=(2, 3, 5),
        actor=ada,
    )
    plan_propose(repository=plan.repository, actor=None)
    own.refresh_from_db()
    assert (own.hours_low, own.hours_likely, own.hours_high) == (2, 3, 5)
    with pytest.raises(PlanError, match="low, likely and high"):
        unit_add(
            plan=plan,
            title="No",
            reason="no",
            phase=Phase.SWEEPS,
            category=FixCategory.ANNOTATION,
            hours=(3, 2, 1),
            actor=ada,
        )


def test_a_unit_is_blocked_only_by_prerequisites_with_a_name(
    unit: WorkUnit, person: Person, ada: User
) -> None:
    pre_flight_confirm(unit=unit, pre_flight={"map": "filled in"}, open_questions=0, actor=ada)
    blocking = unit.edges_in.get().before
    with pytest.raises(PlanError, match="waits for") as raised:
        unit_start(unit=unit, person=person, actor=ada)
    assert blocking.title in str(raised.value)
    Precedence.objects.filter(after=unit).update(state="cut")
    assert unit_start(unit=unit, person=person, actor=ada).status == "under-way"


def test_work_does_not_start_before_its_plan_is_confirmed(unit: WorkUnit, person: Person, ada: User) -> None:
    unit.edges_in.all().delete()
    with pytest.raises(PlanError, match="pre-flight"):
        unit_start(unit=unit, person=person, actor=ada)
    with pytest.raises(PlanError, match="2 questions"):
        pre_flight_confirm(unit=unit, pre_flight={"map": ""}, open_questions=2, actor=ada)


def test_a_unit_is_not_finished_while_the_scanner_sees_its_sites(
    plan: Plan, unit: WorkUnit, person: Person, ada: User
) -> None:
    begin(unit, person, ada)
    with pytest.raises(PlanError, match=f"still sees {unit.members.count()}"):
        unit_finish(unit=unit, actual_hours=4, actor=ada)
    scan(plan.repository, [result for result in results() if result.rule_id == "FT008"])
    assert unit_finish(unit=unit, actual_hours=4, actor=ada).status == "finished"


def test_what_comes_back_after_its_unit_was_finished_goes_into_another(
    plan: Plan, unit: WorkUnit, person: Person, ada: User
) -> None:
    begin(unit, person, ada)
    scan(plan.repository, [result for result in results() if result.rule_id == "FT008"])
    unit_finish(unit=unit, actual_hours=4, actor=ada)
    scan(plan.repository, results())
    plan_propose(repository=plan.repository, actor=None)
    site = FallbackSite.objects.filter(unit_members__unit=unit).earliest("pk")
    assert site.unit_members.get(is_current=True).unit_id != unit.pk
    assert unit.members.filter(is_current=False).exists()


def test_a_pin_and_a_deadline_are_set_and_taken_away(unit: WorkUnit, person: Person, ada: User) -> None:
    unit = unit_pin(unit=unit, start=MONDAY, person=person, actor=ada)
    assert (unit.pin_start, unit.pin_person) == (MONDAY, person)
    unit = unit_pin(unit=unit, start=None, person=None, actor=ada)
    unit = unit_date(unit=unit, deadline=MONDAY, actor=ada)
    assert told(unit)[:3] == [
        "Due by 2026-06-01 09:00 UTC.",
        "Pin taken away.",
        "Pinned to 2026-06-01 09:00 UTC on ada.",
    ]


def test_what_was_told_of_a_plan_is_not_rewritten(unit: WorkUnit, ada: User) -> None:
    unit_rename(unit=unit, title="Mine", actor=ada)
    with pytest.raises(ProgrammingError, match="Cannot update"), transaction.atomic():
        PlanEvent.objects.filter(unit=unit).update(what="Nothing happened.")


def test_hours_that_a_person_gave_stay_until_the_rates_are_asked_again(
    plan: Plan, unit: WorkUnit, ada: User
) -> None:
    reckoned = unit.hours_likely
    with pytest.raises(PlanError, match="in that order"):
        unit_estimate(unit=unit, hours=(3.0, 2.0, 4.0), actor=ada)
    unit_estimate(unit=unit, hours=(20.0, 30.0, 50.0), actor=ada, reason="the macro is in the way")
    plan_propose(repository=plan.repository, actor=None)
    unit.refresh_from_db()
    assert (unit.hours_low, unit.hours_likely, unit.hours_high) == (20.0, 30.0, 50.0)
    assert unit.base_hours == pytest.approx(reckoned, abs=0.001)
    assert told(unit)[0] == "Estimated at 30 hours, 20 to 50."
    unit_estimate(unit=unit, hours=None, actor=ada)
    unit.refresh_from_db()
    assert unit.hours_likely == pytest.approx(reckoned, abs=0.001)


def test_a_unit_of_ones_own_has_no_rates_to_go_back_to(plan: Plan, ada: User) -> None:
    own = unit_add(
        plan=plan,
        title="Guide",
        reason="people ask",
        phase=Phase.REDESIGNS,
        category=FixCategory.ANNOTATION,
        hours=(1, 2, 4),
        actor=ada,
    )
    with pytest.raises(PlanError, match="give its hours"):
        unit_estimate(unit=own, hours=None, actor=ada)


def test_a_split_shares_the_hours_out_and_a_merge_brings_them_back(unit: WorkUnit, ada: User) -> None:
    whole = unit.hours_likely
    part = unit_split(unit=unit, members=some(unit), title="Two of them", actor=ada)
    unit.refresh_from_db()
    assert 0 < part.hours_likely < whole
    assert part.weight > 0
    assert whole < part.hours_likely + unit.hours_likely
    unit_merge(unit=part, into=unit, actor=ada)
    unit.refresh_from_db()
    assert unit.hours_likely == pytest.approx(whole, abs=0.001)


def test_hours_spent_leave_less_to_do(plan: Plan, unit: WorkUnit, person: Person, ada: User) -> None:
    with pytest.raises(PlanError, match="under way"):
        unit_spend(unit=unit, hours=1.0, actor=ada)
    begun = begin(unit, person, ada)
    before = plan_problem(plan=plan, now=MONDAY).hours[unit.key]
    unit_spend(unit=begun, hours=before.likely / 2, actor=ada)
    assert plan_problem(plan=plan, now=MONDAY).hours[unit.key].likely == pytest.approx(before.likely / 2)


@pytest.mark.parametrize("hours", [0.0, -1.0, 10_001.0, float("nan"), float("inf")])
def test_hours_that_nobody_can_have_spent_are_refused(
    unit: WorkUnit, person: Person, ada: User, hours: float
) -> None:
    begun = begin(unit, person, ada)
    with pytest.raises(PlanError, match="above 0"):
        unit_spend(unit=begun, hours=hours, actor=ada)


def test_who_looked_at_an_older_version_moves_merges_and_dates_nothing(
    unit: WorkUnit, other: WorkUnit, ada: User
) -> None:
    seen = unit.version
    unit_rename(unit=unit, title="Ada's", actor=ada)
    for act in (
        lambda: members_move(members=some(unit), source=unit, target=other, actor=ada, seen_version=seen),
        lambda: unit_merge(unit=unit, into=other, actor=ada, seen_version=seen),
        lambda: unit_date(unit=unit, deadline=MONDAY, actor=ada, seen_version=seen),
        lambda: unit_estimate(unit=unit, hours=(1, 2, 3), actor=ada, seen_version=seen),
    ):
        with pytest.raises(ChangedMeanwhileError):
            act()

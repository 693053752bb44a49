"""The pages of schedules, of who works by them, and of units that are begun."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import RowState
from migrations_tracker.models import Absence, Person, Plan, Schedule, UnitMember, WorkUnit
from migrations_tracker.scheduling.stored import to_plain
from migrations_tracker.selectors import schedule_detail
from migrations_tracker.services.schedules import schedule_execute, schedule_request
from migrations_tracker.services.unit_progress import pre_flight_confirm
from migrations_tracker.services.work_units import unit_rename
from tests.migrations_tracker.plan_fixture import results, scan
from tests.migrations_tracker.views.plan_pages import MONDAY, QUICK, post, sweep, text

MAX_QUERIES = 12
PERSON = {
    "name": "ada",
    "skills": "kernel, autograd build",
    "capacity": 1,
    "time_zone": "UTC",
    "days": [0, 1, 2, 3, 4],
    "from_time": "09:00",
    "to_time": "17:00",
    "is_active": "on",
}


def test_a_pre_flight_plan_is_filled_in_confirmed_and_then_work_begins(
    root_client: Client, staffed: Plan
) -> None:
    unit = UnitMember.objects.filter(gap__isnull=False).earliest("pk").unit
    unit.edges_in.all().delete()
    assert post(root_client, "unit-confirm", unit.pk).status_code == 422
    page = root_client.get(reverse("unit-detail", args=[unit.pk])).context["pre_flight"]
    answers = {f"row-{number}": "launch_builder" for number in range(len(page.execution_map))}
    for number in range(len(page.kernels)):
        answers |= {f"kernel-{number}-{name}": "x" for name in ("backend", "signature", "layout")}
        answers[f"kernel-{number}-dtypes"] = "float32 float64"
    post(root_client, "unit-confirm", unit.pk, **answers)
    unit.refresh_from_db()
    assert unit.pre_flight["execution_map"][0]["proved_by"] == "launch_builder"
    person = Person.objects.get(name="ada")
    post(root_client, "unit-start", unit.pk, person=person.pk, version=unit.version)
    unit.refresh_from_db()
    assert (unit.status, unit.person) == ("under-way", person)
    response = post(root_client, "unit-finish", unit.pk, hours="3", version=unit.version)
    assert response.status_code == 409
    assert b"scanner still sees" in response.content


def test_planned_kernels_are_compared_with_those_that_were_seen(
    root_client: Client, staffed: Plan, ada: User
) -> None:
    unit = UnitMember.objects.filter(gap__isnull=False).earliest("pk").unit
    response = root_client.get(reverse("unit-detail", args=[unit.pk]))
    assert response.context["data"].unseen_kernels == ()
    planned = response.context["pre_flight"]
    assert planned.kernels
    pre_flight_confirm(unit=unit, pre_flight=to_plain(planned), open_questions=0, actor=ada)
    page = root_client.get(reverse("unit-detail", args=[unit.pk]))
    assert page.context["data"].unseen_kernels == tuple(kernel.operation for kernel in planned.kernels)
    assert b"No verification saw the kernels of" in page.content


def test_people_are_added_changed_and_away(root_client: Client, plan: Plan) -> None:
    slug = plan.repository.slug
    assert "Nobody yet" in text(root_client, "plan-people", slug)
    assert post(root_client, "plan-people", slug, **PERSON).status_code == 302
    assert post(root_client, "plan-people", slug, **{**PERSON, "to_time": "08:00"}).status_code == 422
    person = Person.objects.get()
    assert (person.skills, person.hours[0]) == (["autograd", "build", "kernel"], [0, 540, 1020])
    away = {"person": person.pk, "starts_at": "2026-06-01T00:00", "ends_at": "2026-06-05T00:00"}
    post(root_client, "absence-create", slug, **away)
    assert "2026-06-01 to 2026-06-05" in text(root_client, "plan-people", slug, query="?edit=ada")
    post(root_client, "absence-delete", Absence.objects.get().pk)
    assert not Absence.objects.exists()
    assert "gives ada nothing" in text(root_client, "plan-person", slug, "ada")


def test_a_schedule_shows_who_does_what_and_how_good_it_is(root_client: Client, schedule: Schedule) -> None:
    page = text(root_client, "schedule-detail", schedule.pk)
    for said in ("<svg", 'class="bar critical"', "h100", "Weighted completion", "runs with efforts drawn"):
        assert said in page, said
    for unit in WorkUnit.objects.all():
        assert f"unit={unit.pk}#pin-heading" in page
    assert "zoom=day" in page
    wide = root_client.get(reverse("schedule-detail", args=[schedule.pk]), {"zoom": "day"})
    narrow = root_client.get(reverse("schedule-detail", args=[schedule.pk]), {"zoom": "quarter"})
    assert wide.context["gantt"].width > narrow.context["gantt"].width


def test_a_long_schedule_is_drawn_in_parts(
    root_client: Client, schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migrations_tracker.selectors.gantt.UNITS_DRAWN", 2)
    total = schedule.placed.count()
    assert total > 4
    first = text(root_client, "schedule-detail", schedule.pk)
    assert f"Units 1 to 2 of {total} by their start." in first
    assert 'rel="prev"' not in first
    assert 'href="?from=2#gantt-heading"' in first
    last = schedule.placed.last()
    assert last is not None
    address = reverse("schedule-detail", args=[schedule.pk])
    end = root_client.get(address, {"unit": last.unit_id})
    assert last.unit_id in [place.unit_id for place in end.context["gantt"].placed]
    assert end.context["chosen"] == last
    drawn = [
        place.pk
        for begin in range(0, total, 2)
        for place in root_client.get(address, {"from": begin}).context["gantt"].placed
    ]
    assert drawn == list(schedule.placed.values_list("pk", flat=True))
    beyond = root_client.get(address, {"from": "999999999999999999999"})
    assert [place.pk for place in beyond.context["gantt"].placed] == [last.pk]


def test_a_title_can_not_leave_its_bar(root_client: Client, staffed: Plan, ada: User) -> None:
    unit_rename(unit=sweep(), title='"></title><script>alert(1)</script>', actor=ada)
    row = schedule_request(plan=staffed, actor=None, now=MONDAY)
    page = text(root_client, "schedule-detail", row.pk, query="?zoom=day")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_person_sees_what_is_next_in_order(root_client: Client, schedule: Schedule) -> None:
    response = root_client.get(reverse("plan-person", args=[schedule.plan.repository.slug, "ada"]))
    placed = response.context["placed"]
    assert placed
    assert [place.starts_at for place in placed] == sorted(place.starts_at for place in placed)


def test_a_pin_is_set_by_the_form_and_the_next_schedule_obeys_it(
    root_client: Client, schedule: Schedule
) -> None:
    unit = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    bo = Person.objects.get(name="bo")
    post(root_client, "schedule-pin", schedule.pk, unit=unit.pk, start="2027-06-02T09:00", person=bo.pk)
    response = post(root_client, "schedule-ask", schedule.plan.repository.slug)
    newest = Schedule.objects.latest("pk")
    assert response["Location"] == newest.get_absolute_url()
    place = newest.placed.get(unit=unit)
    assert place.person == bo
    assert place.starts_at == datetime(2027, 6, 2, 9, tzinfo=UTC)
    page = text(root_client, "schedule-detail", newest.pk)
    assert "its pin was set or taken away" in page
    assert "Pinned to 2027-06-02 09:00 on bo" in text(root_client, "unit-detail", unit.pk)


def test_what_would_be_if_is_shown_beside_the_plan_s_own(root_client: Client, schedule: Schedule) -> None:
    slug = schedule.plan.repository.slug
    wish = {"added_name": "cy", "added_skills": "kernel", "dropped_crate": "minitorch-gpu", "blocks": 9}
    response = post(root_client, "schedule-ask", slug, **wish)
    row = Schedule.objects.latest("pk")
    assert response["Location"] == row.get_absolute_url()
    page = text(root_client, "schedule-detail", row.pk)
    assert "helps with kernel" in page
    assert "Nothing is done in <code>minitorch-gpu</code>" in page
    assert f'Beside schedule <a href="{schedule.get_absolute_url()}"' in page
    assert "What moved" in page
    assert post(root_client, "schedule-ask", slug, blocks="many").status_code == 422


def test_a_comparison_is_kept_for_answers_that_are_final_and_for_these_alone(
    schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = schedule_request(plan=schedule.plan, actor=None, now=datetime(2026, 6, 8, 9, tzinfo=UTC))
    rows = Schedule.objects.filter(pk__in=(schedule.pk, later.pk))

    def ends() -> int:
        before, after = rows.order_by("pk")
        found = schedule_detail.comparison(before=before, after=after)
        assert found
        return found.comparison.makespan_after

    def answered(makespan: int) -> None:
        assert later.answer
        later.answer["objective"]["makespan"] = makespan
        Schedule.objects.filter(pk=later.pk).update(answer=later.answer)

    first = ends()
    answered(first + 1)
    assert ends() == first + 1
    rows.update(state=RowState.SUCCEEDED, finished_at=timezone.now())
    answered(first + 2)
    assert ends() == first + 2
    with monkeypatch.context() as patch:
        patch.setattr(schedule_detail, "compare", pytest.fail)
        assert ends() == first + 2
    answered(first + 3)
    Schedule.objects.filter(pk=later.pk).update(finished_at=timezone.now() + timedelta(seconds=1))
    assert ends() == first + 3


def test_slips_are_seen_against_the_baseline(root_client: Client, schedule: Schedule) -> None:
    post(root_client, "schedule-baseline", schedule.pk)
    assert "baseline" in text(root_client, "schedule-list", schedule.plan.repository.slug)
    later = schedule_request(plan=schedule.plan, actor=None, now=datetime(2026, 6, 8, 9, tzinfo=UTC))
    page = text(root_client, "schedule-detail", later.pk)
    assert "(baseline)" in page
    assert "hours later" in page


def test_clashes_are_named_on_the_page(root_client: Client, plan: Plan) -> None:
    row = schedule_request(plan=plan, actor=None)
    page = text(root_client, "schedule-detail", row.pk)
    assert "these constraints clash" in page
    assert "skills of the people" in page


def test_clashes_of_one_cause_are_one_line_however_many_units_they_are_of(
    root_client: Client, plan: Plan
) -> None:
    row = schedule_request(plan=plan, actor=None)
    one = row.conflicts[0]
    lacking = "needs one person with the skills: kernel. Nobody has them."
    many = [one | {"message": f"`unit-{number}` {lacking}"} for number in range(300)]
    cycles = [one | {"message": f"These units wait for each other: {number}."} for number in range(60)]
    Schedule.objects.filter(pk=row.pk).update(conflicts=[*many, *cycles])
    page = text(root_client, "schedule-detail", row.pk)
    assert "Each of 300 units needs one person with the skills: kernel. Nobody has them." in page
    assert "and 275 more" in page
    assert page.count("These units wait for each other") == 24
    assert "And 36 more" in page


def test_a_page_asks_again_only_while_a_worker_improves(root_client: Client, staffed: Plan) -> None:
    row = schedule_request(plan=staffed, actor=None, now=MONDAY)
    address = row.get_absolute_url()
    fragment = root_client.get(address, headers={"HX-Request": "true"}).content
    assert b"A worker looks for a better one" in fragment
    assert b"<html" not in fragment
    assert schedule_execute(pk=row.pk, options=QUICK)
    assert root_client.get(address, headers={"HX-Request": "true"})["HX-Refresh"] == "true"


def test_the_plan_is_exported_in_every_format(root_client: Client, schedule: Schedule, ada: User) -> None:
    slug = schedule.plan.repository.slug
    unit_rename(unit=sweep(), title='=HYPERLINK("http://x")', actor=ada)
    rows = list(csv.DictReader(io.StringIO(text(root_client, "plan-export", slug, "csv"))))
    assert len(rows) == WorkUnit.objects.count()
    assert '\'=HYPERLINK("http://x")' in {row["title"] for row in rows}
    document = json.loads(text(root_client, "plan-export", slug, "json"))
    assert len(document["units"]) == len(rows)
    assert document["schedule"]["makespan_quarter_hours"] == schedule.makespan
    assert text(root_client, "plan-export", slug, "ics").count("BEGIN:VEVENT") == len(rows)
    assert text(root_client, "plan-export", slug, "md").count("\n|") == len(rows) + 2
    assert root_client.get(reverse("plan-export", args=[slug, "exe"])).status_code == 404


def test_no_page_of_the_plan_takes_more_queries_when_there_is_more(
    root_client: Client,
    schedule: Schedule,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    plan = schedule.plan
    scan(plan.repository, results(60))
    post(root_client, "plan-renew", plan.repository.slug)
    newest = schedule_request(plan=plan, actor=None, now=MONDAY)
    slug = plan.repository.slug
    largest = WorkUnit.objects.order_by("-item_count").first()
    assert largest is not None
    for address in (
        reverse("plan-board", args=[slug]),
        reverse("plan-units", args=[slug]),
        reverse("plan-missing", args=[slug]),
        reverse("plan-people", args=[slug]),
        reverse("plan-person", args=[slug, "ada"]),
        reverse("plan-export", args=[slug, "csv"]),
        reverse("schedule-list", args=[slug]),
        newest.get_absolute_url(),
        largest.get_absolute_url(),
        reverse("unit-issue", args=[largest.pk]),
    ):
        with django_assert_max_num_queries(MAX_QUERIES):
            assert root_client.get(address).status_code == 200, address


def test_a_bar_that_was_dropped_is_pinned_without_another_page(
    root_client: Client, schedule: Schedule
) -> None:
    unit = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    page = text(root_client, "schedule-detail", schedule.pk)
    assert f'data-unit="{unit.pk}"' in page
    person = Person.objects.get(name="bo")
    assert f'data-person="{person.pk}"' in page
    where = reverse("schedule-pin", args=[schedule.pk])
    asked = {"HX-Request": "true"}
    wish = {"unit": unit.pk, "start": "2027-06-02T09:00", "person": person.pk}
    answer = root_client.post(where, wish, headers=asked)
    assert answer.status_code == 200
    assert b"is pinned" in answer.content
    assert b"<html" not in answer.content
    unit.refresh_from_db()
    assert (unit.pin_start, unit.pin_person) == (datetime(2027, 6, 2, 9, tzinfo=UTC), person)
    assert "bar critical pinned" in (found := text(root_client, "schedule-detail", schedule.pk)) or (
        "bar pinned" in found
    )
    refused = root_client.post(where, {**wish, "start": "no time"}, headers=asked)
    assert refused.status_code == 422
    assert b'role="alert"' in refused.content
    assert b"<html" not in refused.content


def test_what_counts_is_set_for_the_plan_and_shown_with_its_schedules(
    root_client: Client, schedule: Schedule
) -> None:
    slug = schedule.plan.repository.slug
    rates = {"always_taken": 9, "reach": 1, "blocks": 2, "base": 1, "phase_order": "strict"}
    assert post(root_client, "plan-settings", slug, **{**rates, "reach": -1}).status_code == 422
    assert post(root_client, "plan-settings", slug, **rates).status_code == 302
    assert "always taken 9" in text(root_client, "schedule-list", slug)
    assert "always taken 3" in text(root_client, "schedule-detail", schedule.pk)
    post(root_client, "schedule-ask", slug)
    assert "always taken 9" in text(root_client, "schedule-detail", Schedule.objects.latest("pk").pk)
    post(root_client, "schedule-ask", slug, blocks=40)
    assert "a unit that waits for it 40" in Schedule.objects.latest("pk").what_if_text


def test_a_crate_without_work_can_not_be_left_out(root_client: Client, staffed: Plan) -> None:
    answer = post(root_client, "schedule-ask", staffed.repository.slug, dropped_crate="nowhere")
    assert answer.status_code == 422
    assert b"No unit that is to be done is in" in answer.content
    assert not Schedule.objects.exists()

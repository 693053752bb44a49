"""The plan and reports through the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Repository
from migrations_tracker.models import MigrationReport, Person, Plan, WorkUnit
from migrations_tracker.roles import Role
from migrations_tracker.services.migration_reports import report_create, report_execute
from tests.factories import make_member, make_user
from tests.migrations_tracker.api.v1.conftest import Ask, asker
from tests.migrations_tracker.plan_fixture import make_plan

ZIP_MAGIC = b"PK"


@pytest.fixture
def plan(db: None) -> Plan:
    return make_plan()


@pytest.fixture
def root(db: None) -> Ask:
    return asker(make_user("root", is_superuser=True))


def test_units_are_listed_and_narrowed(plan: Plan, ask: Ask) -> None:
    every = ask("GET", "repositories/minitorch/units").json()
    assert every["total"] == WorkUnit.objects.count() > 0
    phases = {item["phase"] for item in every["items"]}
    narrowed = ask("GET", f"repositories/minitorch/units?phase={min(phases)}").json()
    assert {item["phase"] for item in narrowed["items"]} == {min(phases)}
    assert ask("GET", "repositories/minitorch/units?phase=9").status_code == 422


def test_a_unit_tells_its_sites_and_its_rationale(plan: Plan, ask: Ask) -> None:
    unit = WorkUnit.objects.filter(members__site__isnull=False).first()
    assert unit is not None
    answer = ask("GET", f"units/{unit.pk}").json()
    assert answer["sites"] == list(unit.members.values_list("site_id", flat=True))
    assert "Implementation cost" in answer["text"]
    assert answer["hours"]["low"] <= answer["hours"]["likely"] <= answer["hours"]["high"]


class TestAUnit:
    """A unit's progress."""

    @pytest.fixture
    def unit(self, plan: Plan) -> WorkUnit:
        Person.objects.create(plan=plan, name="grace")
        unit = WorkUnit.objects.filter(plan=plan, members__site__isnull=False).first()
        assert unit is not None
        unit.edges_in.all().delete()
        WorkUnit.objects.filter(pk=unit.pk).update(confirmed_at=datetime.now(UTC), pre_flight={"a": "b"})
        return unit

    def test_is_begun_by_somebody_of_the_plan(self, unit: WorkUnit, root: Ask) -> None:
        stranger = root("POST", f"units/{unit.pk}/start", {"person": "eve", "version": unit.version})
        assert stranger.status_code == 422
        begun = root("POST", f"units/{unit.pk}/start", {"person": "grace", "version": unit.version})
        assert (begun.json()["status"], begun.json()["person"]) == ("under-way", "grace")

    def test_is_not_finished_while_the_scanner_sees_its_sites(self, unit: WorkUnit, root: Ask) -> None:
        begun = root("POST", f"units/{unit.pk}/start", {"person": "grace", "version": unit.version}).json()
        done = root("POST", f"units/{unit.pk}/finish", {"hours": 3, "version": begun["version"]})
        assert done.status_code == 422
        assert "still sees" in done.json()["detail"]

    def test_is_moved_on_by_no_reader(self, unit: WorkUnit, ask: Ask, ada: User) -> None:
        make_member(ada, Role.READER)
        body = {"person": "grace", "version": unit.version}
        assert ask("POST", f"units/{unit.pk}/start", body).status_code == 403


def test_without_a_name_the_next_units_are_the_owner_s(plan: Plan, ask: Ask, ada: User) -> None:
    assert ask("GET", "repositories/minitorch/next-units").status_code == 422
    Person.objects.create(plan=plan, name="ada", user=ada)
    assert ask("GET", "repositories/minitorch/next-units").json() == []


def test_a_report_is_asked_for_and_read_in_every_format(repository: Repository, ask: Ask) -> None:
    asked = ask("POST", "repositories/minitorch/reports", {})
    assert (asked.status_code, asked.json()["files"]) == (202, {})
    pk = asked.json()["id"]
    assert ask("GET", f"reports/{pk}/files/json").status_code == 409
    report_execute(pk=MigrationReport.objects.get().pk)
    files = ask("GET", f"reports/{pk}").json()["files"]
    contents = {
        key: b"".join(answer.streaming_content) if answer.streaming else answer.content
        for key in files
        for answer in [ask("GET", f"reports/{pk}/files/{key}")]
    }
    assert set(contents) == {"html", "pdf", "md", "csv", "json", "sarif", "zip"}
    assert json.loads(contents["sarif"])["version"] == "2.1.0"
    assert contents["zip"].startswith(ZIP_MAGIC)
    assert contents["pdf"].startswith(b"%PDF-")
    assert ask("GET", f"reports/{pk}/files/docx").status_code == 404


def test_scans_are_asked_for_and_followed(repository: Repository, ask: Ask) -> None:
    scan_run = repository.scan_runs.get()
    listed = ask("GET", "repositories/minitorch/scans").json()
    assert [item["id"] for item in listed["items"]] == [scan_run.pk]
    assert ask("GET", f"scans/{scan_run.pk}").json()["results"] == 2
    asked = ask("POST", "repositories/minitorch/scans", {"follow": True})
    assert asked.status_code == 202
    request = ask("GET", f"scan-requests/{asked.json()['request']}").json()
    assert request["state"] == "pending"


def test_many_reports_are_listed_by_as_many_queries_as_one(
    repository: Repository,
    ask: Ask,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[None]],
) -> None:
    for _ in range(15):
        report_create(branch=repository.branches.get(), since=None, actor=None)
    with django_assert_max_num_queries(12):
        assert len(ask("GET", "repositories/minitorch/reports").json()["items"]) == 15


def test_a_unit_is_read_with_its_scan_and_inventory(plan: Plan, ask: Ask) -> None:
    unit = plan.units.latest("item_count")
    with CaptureQueriesContext(connection) as asked:
        assert ask("GET", f"units/{unit.pk}").json()["id"] == unit.pk
    apart = ("audit_scanrun", "audit_workspaceinventory")
    assert not [query for query in asked if any(f'FROM "{table}"' in query["sql"] for table in apart)]


def test_reports_are_mailed_by_a_schedule(plan: Plan, settings: object) -> None:
    settings.EMAIL_HOST = "mail.example.org"  # type: ignore[attr-defined]
    lead = asker(make_user("lena", role=Role.LEAD))
    path = "repositories/minitorch/report-schedules"
    made = lead("POST", path, {"period": "weekly", "recipients": ["lena"], "formats": ["md"]})
    assert (made.status_code, made.json()["formats"]) == (201, ["md"])
    assert lead("GET", path).json() == [made.json()]
    again = lead("POST", path, {"period": "weekly", "recipients": ["lena"]})
    assert again.status_code == 422
    assert lead("DELETE", f"report-schedules/{made.json()['id']}").status_code == 204
    assert lead("GET", path).json() == []


class TestAPlanAsAWhole:
    """Proposing it, who works on it, and its schedules."""

    HOURS = ({"day": 0, "begins": 540, "ends": 1020}, {"day": 1, "begins": 540, "ends": 1020})

    def test_is_proposed_and_held_to_the_newest_scan(self, plan: Plan, root: Ask) -> None:
        again = root("POST", "repositories/minitorch/plan").json()
        assert (again["changes"], again["units"]) == ([], plan.units.filter(item_count__gt=0).count())

    def test_has_people_who_can_be_changed(self, plan: Plan, root: Ask) -> None:
        body = {"skills": ["kernel", "build"], "hours": self.HOURS}
        assert root("PUT", "repositories/minitorch/people/grace", body).status_code == 200
        root("PUT", "repositories/minitorch/people/grace", {**body, "capacity": 2})
        (person,) = root("GET", "repositories/minitorch/people").json()
        assert (person["name"], person["skills"], person["capacity"]) == ("grace", ["build", "kernel"], 2)
        refused = root("PUT", "repositories/minitorch/people/Grace H", body)
        assert (refused.status_code, Person.objects.count()) == (422, 1)

    def test_is_scheduled_and_says_what_clashes(self, plan: Plan, root: Ask) -> None:
        clash = root("POST", "repositories/minitorch/schedules")
        assert clash.status_code == 202
        assert clash.json()["ends_at"] is None
        assert clash.json()["conflicts"]
        skills = ["autograd", "build", "kernel"]
        root("PUT", "repositories/minitorch/people/grace", {"skills": skills, "hours": self.HOURS})
        made = root("POST", "repositories/minitorch/schedules").json()
        answer = root("GET", f"schedules/{made['id']}").json()
        assert answer["makespan_minutes"] >= answer["bound_minutes"] > 0
        assert answer["conflicts"] == []

    def test_is_for_leads_to_change(self, plan: Plan, ask: Ask) -> None:
        assert ask("POST", "repositories/minitorch/schedules").status_code == 403
        assert ask("GET", "repositories/minitorch/people").status_code == 200

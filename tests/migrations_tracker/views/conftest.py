"""People and data for the pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import FallbackSite, Repository
from migrations_tracker.models import Plan, Schedule
from migrations_tracker.roles import Role
from migrations_tracker.services.plan_people import person_set
from migrations_tracker.services.schedules import schedule_execute, schedule_request
from tests.factories import ingest, make_report, make_repository, make_result, make_user
from tests.migrations_tracker.plan_fixture import make_plan
from tests.migrations_tracker.views.plan_pages import MONDAY, QUICK
from workers.models import Runner

#: What shows a page again without having changed anything: previews, and log-ins that failed or go elsewhere.
CHANGES_NOTHING = {"login", "mfa_authenticate", "openid_connect_login"}
CHANGES_NOTHING |= {"entry-add", "entry-edit", "imported-audit-add"}


@pytest.fixture(autouse=True)
def forms_go_on_to_a_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold each form to going on to a page where it changed something: loading that again changes nothing."""
    answer = Client.request
    stayed: list[str] = []

    def asked(self: Client, **request: Any) -> Any:
        response = answer(self, **request)
        is_whole_page = request.get("REQUEST_METHOD") == "POST" and "HTTP_HX_REQUEST" not in request
        if is_whole_page and response.status_code == 200:
            match = response.resolver_match
            is_page = not match.namespaces and not str(match.url_name).startswith("api-")
            if is_page and match.url_name not in CHANGES_NOTHING:
                stayed.append(f"{match.url_name} {request.get('PATH_INFO')}")
        return response

    monkeypatch.setattr(Client, "request", asked)
    yield
    assert stayed == []


@pytest.fixture
def repository(db: None) -> Repository:
    return make_repository()


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    ingest(repository, make_report([make_result()]))
    return FallbackSite.objects.get()


@pytest.fixture
def ada(db: None) -> User:
    """A person without special rights."""
    return make_user()


@pytest.fixture
def lea_client(db: None) -> Client:
    """A lead's browser."""
    client = Client()
    client.force_login(make_user("lea", role=Role.LEAD))
    return client


@pytest.fixture
def ada_client(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def root_client(db: None) -> Client:
    """An administrator's."""
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    return client


@pytest.fixture
def plan(db: None) -> Plan:
    return make_plan()


@pytest.fixture
def staffed(plan: Plan, ada: User) -> Plan:
    Runner.objects.create(name="h100", is_able=True)
    for name in ("ada", "bo"):
        person_set(
            plan=plan,
            name=name,
            skills=["autograd", "build", "kernel"],
            capacity=1,
            time_zone="UTC",
            hours=[[day, 540, 1020] for day in range(5)],
            actor=ada,
        )
    return plan


@pytest.fixture
def schedule(staffed: Plan) -> Schedule:
    row = schedule_request(plan=staffed, actor=None, now=MONDAY)
    assert schedule_execute(pk=row.pk, options=QUICK)
    row.refresh_from_db()
    return row

"""The API is as its description says, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.db.models import Model
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from audit.models import CapabilityGap, FallbackSite, ScanRequest, ScanRun
from audit.parity.capability import State
from migrations_tracker.api.v1.app import api
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import BulkChange, MigrationReport, Schedule, WorkUnit
from migrations_tracker.selectors.site_list import SiteFilters
from migrations_tracker.services.api_tokens import api_token_create
from migrations_tracker.services.bulk_changes import bulk_change_create
from migrations_tracker.services.migration_reports import report_create, report_execute
from migrations_tracker.services.schedules import schedule_request
from tests.factories import make_capability, make_user, store_capabilities
from tests.migrations_tracker.plan_fixture import make_plan

EXAMPLES = 6
MODELS: dict[str, type[Model]] = {
    "sites": FallbackSite,
    "gaps": CapabilityGap,
    "units": WorkUnit,
    "reports": MigrationReport,
    "scans": ScanRun,
    "scan-requests": ScanRequest,
    "schedules": Schedule,
    "bulk-changes": BulkChange,
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]


@pytest.fixture
def token(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give a token that may do everything, over a repository with all there is to ask for."""
    monkeypatch.setattr(django_settings, "API_REQUESTS_PER_MINUTE", 100_000)
    plan = make_plan()
    scan_run = plan.repository.scan_runs.get()
    store_capabilities(scan_run, [make_capability(state=State.HOST_ONLY)])
    root = make_user("root", is_superuser=True)
    report_create(branch=plan.repository.branches.get(), since=None, actor=root)
    report_execute(pk=MigrationReport.objects.get().pk)
    schedule_request(plan=plan, actor=root)
    bulk_change_create(
        branch=plan.repository.branches.get(),
        filters=SiteFilters(rule="FT001"),
        to=Status.ACCEPTED,
        sets_assignee=False,
        assignee=None,
        reason="",
        actor=root,
        seen_count=FallbackSite.objects.filter(rule_id="FT001").count(),
    )
    for signal in (request_started, request_finished):
        # The connection holds the test's transaction.
        signal.disconnect(close_old_connections)
    yield api_token_create(owner=root, name="fuzz")[1]
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@cache
def _schema() -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler())


def _known(path: str) -> dict[str, object]:
    """Name what is there of the kind that a path asks for."""
    model = next((model for prefix, model in MODELS.items() if path.startswith(f"/api/v1/{prefix}/")), None)
    row = model._default_manager.order_by("pk").first() if model is not None else None
    return {"slug": "minitorch"} | ({"pk": row.pk} if row is not None else {})


OPERATIONS = [
    (path, method) for path, methods in api.get_openapi_schema()["paths"].items() for method in methods
]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_is_one_that_the_description_knows(path: str, method: str, token: str) -> None:
    known = _known(path)

    @given(case=_schema()[path][method.upper()].as_strategy())
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case[Any]) -> None:
        # Names made up at random only ever meet "there is no such thing".
        case.path_parameters |= {name: value for name, value in known.items() if name in case.path_parameters}
        case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

    check()

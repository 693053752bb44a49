"""What the tests of the plan's pages ask and send."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.test import Client
from django.urls import reverse

from migrations_tracker.models import WorkUnit
from migrations_tracker.scheduling.problem import SolveOptions

QUICK = SolveOptions(evaluations=40, deterministic_time=0.5)
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)


def text(client: Client, name: str, *arguments: object, query: str = "") -> str:
    response = client.get(reverse(name, args=arguments) + query)
    assert response.status_code == 200
    return response.content.decode()


def post(client: Client, view: str, *arguments: object, **data: Any) -> Any:
    return client.post(reverse(view, args=arguments), data)


def sweep() -> WorkUnit:
    return WorkUnit.objects.filter(rules=["silent-fallback"]).earliest("pk")

"""A repository that was scanned, and programs that ask about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import FallbackSite, Repository
from migrations_tracker.models import TokenScope
from migrations_tracker.services.api_tokens import api_token_create
from tests.factories import ingest, make_report, make_repository, make_result, make_user

Ask = Callable[..., Any]


@pytest.fixture
def ada(db: None) -> User:
    return make_user()


@pytest.fixture
def repository(db: None) -> Repository:
    repository = make_repository()
    ingest(repository, make_report([make_result(), make_result("minitorch_gpu::ops::gelu", line=40)]))
    return repository


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    return FallbackSite.objects.get(symbol="minitorch_gpu::ops::relu")


@pytest.fixture
def ask(ada: User) -> Ask:
    return asker(ada)


def asker(owner: User, scope: TokenScope = TokenScope.WRITE) -> Ask:
    """Give a function that sends a request with a token of `owner`."""
    token = api_token_create(owner=owner, name="CI", scope=scope)[1]
    client = Client(enforce_csrf_checks=True)

    def ask(method: str, path: str, body: object = None, **headers: str) -> Any:
        return client.generic(
            method,
            f"/api/v1/{path}",
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}", **headers},
        )

    return ask

"""People and data for the pages."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import FallbackSite, Repository
from tests.factories import ingest, make_report, make_repository, make_result, make_user


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

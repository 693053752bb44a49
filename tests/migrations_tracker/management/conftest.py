"""Data for the commands."""

from __future__ import annotations

import pytest

from audit.models import FallbackSite
from tests.factories import ingest, make_report, make_repository, make_result


@pytest.fixture
def site(db: None) -> FallbackSite:
    ingest(make_repository(), make_report([make_result()]))
    return FallbackSite.objects.get()

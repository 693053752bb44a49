"""Data for the browser's tests."""

from __future__ import annotations

import pytest

from tests.factories import ingest, make_report, make_repository, make_result, make_user


@pytest.fixture
def sites(transactional_db: None) -> None:
    """An administrator, and a repository with sixty sites."""
    make_user("root", is_superuser=True)
    names = [f"minitorch_gpu::ops::op{number}" for number in range(60)]
    ingest(make_repository(), make_report([make_result(name, line=i + 1) for i, name in enumerate(names)]))

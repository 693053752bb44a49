"""A repository at a glance."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.models import SiteEvent
from migrations_tracker.selectors.dashboard import SHADES, dashboard, heat_map
from tests.factories import ingest, make_report, make_repository, make_result

RELU = make_result()
GELU = make_result("minitorch_gpu::ops::gelu", line=40)
CELLS = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["FT001", "FT002", "FT017"])), st.integers(1, 500)
)


@given(CELLS)
def test_rows_columns_and_all_add_up(cells: dict[tuple[str, str], int]) -> None:
    heat = heat_map(Counter(cells))
    assert heat.total == sum(cells.values())
    assert sum(row.total for row in heat.rows) == sum(total for _, total in heat.rules) == heat.total
    assert all(row.total == sum(cell.count for cell in row.cells) for row in heat.rows)


@given(CELLS)
def test_more_sites_are_never_paler(cells: dict[tuple[str, str], int]) -> None:
    found = [cell for row in heat_map(Counter(cells)).rows for cell in row.cells]
    ordered = sorted(found, key=lambda cell: cell.count)
    assert [cell.shade for cell in ordered] == sorted(cell.shade for cell in found)
    assert all((cell.shade == 0) == (cell.count == 0) and cell.shade <= SHADES for cell in found)


@pytest.mark.django_db
def test_a_repository_without_a_scan_has_none() -> None:
    assert dashboard(repository=make_repository()) is None


@pytest.mark.django_db
def test_what_came_back_is_told_and_the_first_scan_is_no_change() -> None:
    repository = make_repository()
    for results in ([RELU, GELU], [GELU], [RELU, GELU]):
        ingest(repository, make_report(results, files=[RELU.path]))
    data = dashboard(repository=repository)
    assert data is not None
    assert (data.recent.new, data.recent.closed, data.recent.reopened) == (0, 1, 1)
    assert [event.site.symbol for event in data.regressions] == [RELU.symbol]
    assert SiteEvent.objects.filter(kind="reopened").count() == 1
    assert data.heat.total == 2


@pytest.mark.django_db
def test_what_is_gone_is_counted_by_outcome() -> None:
    repository = make_repository()
    ingest(repository, make_report([RELU, GELU]))
    ingest(repository, make_report([GELU], files=[RELU.path]))
    data = dashboard(repository=repository)
    assert data is not None
    assert data.gone_total == 1 == sum(count for _, count in data.outcomes)

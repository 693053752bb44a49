"""The list of sites: filters and pages."""

from __future__ import annotations

import itertools
import random
from datetime import date

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from audit.models import Branch, Repository, SiteState
from audit.scanner.report import Level
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration
from migrations_tracker.selectors import site_list as module
from migrations_tracker.selectors.site_list import (
    SORT_ORDERS,
    Cursor,
    Seen,
    SiteFilters,
    cursor_decode,
    filters_read,
    site_count,
    site_list,
)
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_report, make_repository, make_result, make_user

KERNELS = "minitorch_gpu::kernels::"
SITES = 37


@pytest.fixture
def repository(db: None) -> Repository:
    return make_repository()


@pytest.fixture
def branch(repository: Repository) -> Branch:
    """A branch on which many sites are equal in every column that sorts."""
    chosen = random.Random(7)
    results = [
        make_result(
            f"minitorch_{chosen.choice(['gpu', 'nn'])}::{chosen.choice('ab')}::op{number}",
            rule_id=chosen.choice(["FT001", "FT008"]),
            level=chosen.choice([Level.ERROR, Level.WARNING, Level.NOTE]),
            line=chosen.randint(1, 4),
        )
        for number in range(SITES)
    ]
    ingest(repository, make_report(results))
    return repository.branches.get(name="main")


def symbols(branch: Branch, **filters: str) -> set[str]:
    return {state.symbol for state in site_list(branch=branch, filters=SiteFilters(**filters)).states}


@pytest.mark.parametrize("sort", SORT_ORDERS)
@pytest.mark.parametrize(("size", "sorted_at_most"), [(1, 5), (4, 50), (7, 0), (36, 5), (37, 50)])
def test_the_pages_show_each_site_once_in_order(
    branch: Branch, sort: str, size: int, sorted_at_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SORTED_AT_MOST", sorted_at_most)
    filters = SiteFilters(sort=sort)
    whole = [state.pk for state in site_list(branch=branch, filters=filters, size=100).states]
    assert len(whole) == SITES

    page = site_list(branch=branch, filters=filters, size=size)
    forward = [state.pk for state in page.states]
    while page.next:
        page = site_list(branch=branch, filters=filters, cursor=cursor_decode(page.next, sort), size=size)
        forward += [state.pk for state in page.states]
    assert forward == whole

    backward = [state.pk for state in page.states]
    while page.previous:
        cursor = cursor_decode(page.previous, sort)
        page = site_list(branch=branch, filters=filters, cursor=cursor, size=size)
        backward = [state.pk for state in page.states] + backward
    assert backward == whole


def test_what_is_sorted_and_what_is_walked_is_the_same(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = branch.site_states.order_by("symbol")
    SiteState.objects.filter(pk__in=[state.pk for state in states[::3]]).update(
        is_open=False, baseline_state="absent", closed_scan=branch.scan_runs.get()
    )
    narrowed: tuple[dict[str, str], ...] = (
        {},
        {"text": "a::"},
        {"status": "open"},
        {"crate": "minitorch-nn"},
    )
    for sort, seen, more in itertools.product(SORT_ORDERS, Seen, narrowed):
        filters = SiteFilters(sort=sort, seen=seen, **more)
        monkeypatch.setattr(module, "SORTED_AT_MOST", 50)
        by_sorting = site_list(branch=branch, filters=filters)
        monkeypatch.setattr(module, "SORTED_AT_MOST", 0)
        by_walking = site_list(branch=branch, filters=filters)
        found = [state.pk for state in by_sorting.states]
        assert [state.pk for state in by_walking.states] == found != [], filters
        assert by_sorting.total == len(found) == site_count(branch=branch, filters=filters), filters


@pytest.mark.parametrize("gone", [slice(None, None, 3), slice(0, 2), slice(2, None)])
def test_however_many_of_each_half_match_a_text_the_pages_are_the_same(
    branch: Branch, gone: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = list(branch.site_states.order_by("symbol").values_list("pk", flat=True))
    SiteState.objects.filter(pk__in=ids[gone]).update(
        is_open=False, baseline_state="absent", closed_scan=branch.scan_runs.get()
    )
    SiteMigration.objects.filter(site__states__in=ids[::4]).update(due_on=date(2026, 12, 1))
    for sort in SORT_ORDERS:
        filters = SiteFilters(sort=sort, seen="any", text="minitorch")
        monkeypatch.setattr(module, "SORTED_AT_MOST", 50)
        whole = site_list(branch=branch, filters=filters)
        assert (len(whole.states), whole.total, whole.is_more) == (SITES, SITES, False)
        for at_most in (0, 1, 3, 12, 24, 36, 37):
            monkeypatch.setattr(module, "SORTED_AT_MOST", at_most)
            page = site_list(branch=branch, filters=filters)
            assert [one.pk for one in page.states] == [one.pk for one in whole.states], (sort, at_most)
            assert page.total == SITES or (page.is_more and page.total < SITES)


def test_both_halves_that_match_a_text_are_read_at_once(
    branch: Branch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2):
        site_list(branch=branch, filters=SiteFilters(text="minitorch", seen="any"))


def test_an_exact_number_is_told_where_an_index_has_it_and_else_a_least_one(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SORTED_AT_MOST", 5)
    whole = site_list(branch=branch, filters=SiteFilters())
    assert (whole.total, whole.is_more) == (SITES, False)
    narrowed = site_list(branch=branch, filters=SiteFilters(text="op"))
    assert (narrowed.total, narrowed.is_more, len(narrowed.states)) == (5, True, SITES)
    few = site_list(branch=branch, filters=SiteFilters(text="op12"))
    assert (few.total, few.is_more) == (1, False)
    assert site_count(branch=branch, filters=SiteFilters(text="op")) == SITES


def test_a_page_stays_where_it_is_when_sites_come_before_it(branch: Branch, repository: Repository) -> None:
    filters = SiteFilters()
    first = site_list(branch=branch, filters=filters, size=10)
    cursor = cursor_decode(first.next, "path")
    second = site_list(branch=branch, filters=filters, cursor=cursor, size=10)
    early = make_result("aaa::a::early", line=1)
    kept = [make_result(s.symbol, rule_id=s.rule_id, line=s.start_line) for s in SiteState.objects.all()]
    ingest(repository, make_report([early, *kept]))
    again = site_list(branch=branch, filters=filters, cursor=cursor, size=10)
    assert [state.pk for state in again.states] == [state.pk for state in second.states]


def test_levels_are_sorted_by_gravity(branch: Branch) -> None:
    page = site_list(branch=branch, filters=SiteFilters(sort="level"))
    assert list(dict.fromkeys(state.level for state in page.states)) == ["error", "warning", "note"]


@pytest.mark.parametrize("column", ["crate", "rule", "level"])
def test_a_filter_keeps_exactly_what_it_names(branch: Branch, column: str) -> None:
    field = {"rule": "rule_id"}.get(column, column)
    values = SiteState.objects.values_list(field, flat=True).distinct()
    assert len(values) > 1
    for value in values:
        expected = set(SiteState.objects.filter(**{field: value}).values_list("symbol", flat=True))
        assert symbols(branch, **{column: value}) == expected


def test_text_is_found_in_symbols_and_paths_in_any_case(repository: Repository) -> None:
    ingest(repository, make_report([make_result(KERNELS + "GPU_Relu"), make_result("other::b::gelu")]))
    branch = repository.branches.get()
    assert symbols(branch, text="gpu_relu") == {KERNELS + "GPU_Relu"}
    assert symbols(branch, text="KERNELS.rs") == {KERNELS + "GPU_Relu"}
    assert symbols(branch, text="relu kernels") == {KERNELS + "GPU_Relu"}
    assert symbols(branch, text="100%") == set()
    assert symbols(branch, text="gpu_") == {KERNELS + "GPU_Relu"}


def test_the_status_filter_keeps_what_the_plan_says(repository: Repository) -> None:
    ingest(repository, make_report([make_result(KERNELS + "relu"), make_result(KERNELS + "gelu", line=30)]))
    branch = repository.branches.get()
    state = SiteState.objects.get(symbol=KERNELS + "gelu")
    site_migration_transition(site=state.site, to=Status.ACCEPTED, actor=make_user())
    assert symbols(branch, status="accepted") == {KERNELS + "gelu"}
    assert symbols(branch, status="open") == {KERNELS + "relu"}


def test_absent_sites_are_listed_apart(repository: Repository) -> None:
    gone = make_result(KERNELS + "relu")
    ingest(repository, make_report([gone, make_result(KERNELS + "gelu", line=30)]))
    ingest(repository, make_report([make_result(KERNELS + "gelu", line=30)]))
    branch = repository.branches.get()
    assert symbols(branch) == {KERNELS + "gelu"}
    assert symbols(branch, seen="absent") == {KERNELS + "relu"}
    assert len(symbols(branch, seen="any")) == 2


@given(
    st.text(max_size=60)
    | st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=5).map(
        lambda key: Cursor(tuple(key)).encode()  # type: ignore[arg-type]
    )
)
def test_any_cursor_in_the_url_is_read(text: str) -> None:
    for sort, order in SORT_ORDERS.items():
        assert len(cursor_decode(text, sort).key) in {0, len(order.columns)}


def test_a_cursor_of_another_order_is_the_first_page() -> None:
    cursor = Cursor(("src/lib.rs", 3, 9))
    assert cursor_decode(cursor.encode(), "path") == cursor
    assert cursor_decode(cursor.encode(), "symbol") == Cursor()


@given(
    st.dictionaries(
        st.sampled_from(["q", "crate", "rule", "level", "status", "seen", "sort", "page"]),
        st.text(max_size=30),
    )
)
def test_any_query_in_the_url_is_read(values: dict[str, str]) -> None:
    query = QueryDict(mutable=True)
    query.update(values)
    filters = filters_read(query)
    assert filters.sort in SORT_ORDERS
    assert filters.status in {"", *Status}
    assert "\0" not in filters.text + filters.crate + filters.rule + filters.level

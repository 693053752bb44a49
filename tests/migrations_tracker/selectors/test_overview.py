"""Counts equal what the lists they link to hold."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from audit.models import Repository, SiteState
from audit.scanner.report import Level
from migrations_tracker.lifecycle import Status
from migrations_tracker.selectors.overview import (
    branch_breakdown,
    open_counts_by_rule,
    repository_cards,
    scan_breakdown,
    status_counts,
)
from migrations_tracker.selectors.site_list import SiteFilters, filters_read, site_list
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_report, make_repository, make_result, make_user


@pytest.fixture
def repository(db: None) -> Repository:
    """Three scans: sites came, one left, one was accepted."""
    repository = make_repository()
    other = make_repository("other")
    ops = [
        make_result(f"minitorch_{crate}::ops::op{n}", rule_id=rule, level=level, line=n + 1)
        for crate, rule, level, n in (
            ("gpu", "FT001", Level.ERROR, 0),
            ("gpu", "FT008", Level.WARNING, 1),
            ("nn", "FT001", Level.ERROR, 2),
            ("nn", "FT001", Level.WARNING, 3),
        )
    ]
    ingest(repository, make_report(ops))
    ingest(repository, make_report(ops[1:], files=[ops[0].path]))
    ingest(other, make_report(ops[:2]))
    site = SiteState.objects.filter(branch__repository=repository, is_open=True).earliest("id").site
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=make_user())
    return repository


def test_the_counts_by_status_are_the_totals_of_the_lists(repository: Repository) -> None:
    branch = repository.branches.get()
    counts = status_counts(repositories=[repository])
    for one in counts:
        filters = filters_read(QueryDict(one.query))
        assert site_list(branch=branch, filters=filters).total == one.count
    assert {one.key: one.count for one in counts if one.count} == {"open": 2, "accepted": 1, "left": 1}
    assert sum(one.count for one in status_counts(repositories=list(Repository.objects.all()))) == 6


def test_the_breakdown_s_counts_are_the_totals_of_the_lists(repository: Repository) -> None:
    branch = repository.branches.get()
    breakdown = branch_breakdown(branch=branch)
    assert breakdown.total.total == site_list(branch=branch, filters=SiteFilters()).total == 3
    for row in breakdown.rules:
        assert row.counts.total == site_list(branch=branch, filters=SiteFilters(rule=row.rule.id)).total
    for crate, counts in breakdown.crates:
        assert counts.total == site_list(branch=branch, filters=SiteFilters(crate=crate)).total
    assert breakdown.total.levels == [("error", 1), ("warning", 2)]


def test_a_scan_s_breakdown_counts_its_own_results(repository: Repository) -> None:
    first = repository.scan_runs.earliest("id")
    assert scan_breakdown(scan_run=first).total.total == first.result_count == 4


def test_each_repository_counts_its_own_sites(repository: Repository) -> None:
    found = {
        card.repository.name: card.counts.total
        for card in repository_cards(repositories=Repository.objects.all())
    }
    assert found == {"minitorch": 3, "other": 2}
    assert open_counts_by_rule(repositories=Repository.objects.all()) == {"FT001": 3, "FT008": 2}

"""Sites that vanish without an outcome are held until a scan tells more or a person has ruled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum
from django.test import Client
from django.urls import reverse

from audit.errors import AuditError
from audit.models import (
    BranchScan,
    FallbackSite,
    HeldDrop,
    HeldSite,
    Repository,
    SiteEvent,
    SiteState,
    SiteTally,
)
from audit.scanner.report import Outcome, ScanReport, SiteOutcome
from audit.services.held_drops import drop_keep
from audit.services.ingest import IngestSummary
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration
from migrations_tracker.roles import Role
from migrations_tracker.services.held_drops import held_drop_release
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest as ingest_told
from tests.factories import make_member, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

RESULTS = [make_result(f"minitorch_gpu::ops::op{number}", line=number * 10 + 1) for number in range(8)]
FILE = "minitorch-gpu/src/ops.rs"


def ingest(repository: Repository, report: ScanReport) -> IngestSummary:
    """Store a report as it stands: what it does not tell the outcome of, it does not tell."""
    return ingest_told(repository, report, is_told=False)


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def ada() -> User:
    return make_user(role=Role.LEAD)


@pytest.fixture
def drop(repository: Repository) -> HeldDrop:
    """Give a branch from which six of eight sites vanish in one scan."""
    ingest(repository, make_report(RESULTS))
    ingest(repository, report(RESULTS[:2]))
    return HeldDrop.objects.get()


def report(results: Sequence[object], told: Sequence[str] = ()) -> ScanReport:
    """Report results of the file, with an outcome for the sites that are named."""
    sites = FallbackSite.objects.filter(symbol__in=told)
    outcomes = {site.pk: SiteOutcome(Outcome.STRUCTURED_ERROR, "returns an error") for site in sites}
    return replace(make_report(results, files=[FILE]), outcomes=outcomes)  # type: ignore[arg-type]


def open_symbols() -> set[str]:
    return set(SiteState.objects.filter(is_open=True).values_list("symbol", flat=True))


def unbalanced() -> list[BranchScan]:
    """Return the scans after which the counts are not those of the scan before and what it changed."""
    before, wrong = 0, []
    for row in BranchScan.objects.order_by("position"):
        tallied = row.tallies.filter(is_open=True).aggregate(Sum("count"))["count__sum"] or 0
        changed = before + row.new_count + row.reopened_count - row.closed_count
        if not row.open_count == changed == tallied:
            wrong.append(row)
        before = row.open_count
    return wrong


@pytest.mark.parametrize(
    ("vanished", "open_before", "expected"),
    [(0, 0, False), (4, 4, False), (5, 5, True), (5, 50, True), (6, 100, False), (10, 100, True)],
)
def test_a_drop_is_unusual_by_number_and_share(vanished: int, open_before: int, expected: bool) -> None:
    assert HeldDrop(site_count=vanished, open_before=open_before).is_suspicious == expected


def test_what_vanishes_stays_open_until_a_person_has_ruled(drop: HeldDrop) -> None:
    assert open_symbols() == {one.symbol for one in RESULTS}
    assert not SiteEvent.objects.filter(kind="closed").exists()
    assert (drop.site_count, drop.open_before, drop.state) == (6, 8, "waiting")
    assert BranchScan.objects.latest("position").open_count == 8
    assert unbalanced() == []


@pytest.mark.parametrize("vanished", range(1, 8))
def test_no_site_is_closed_without_an_outcome_however_few_vanish(
    repository: Repository, vanished: int
) -> None:
    ingest(repository, make_report(RESULTS))
    told = [one.symbol for one in RESULTS[vanished:]]
    ingest(repository, report([], told=told))
    assert open_symbols() == {one.symbol for one in RESULTS[:vanished]}
    assert not SiteEvent.objects.filter(kind="closed", outcome="").exists()
    assert SiteEvent.objects.filter(kind="closed").count() == len(told)
    assert HeldSite.objects.filter(end="").count() == vanished
    assert unbalanced() == []


def test_what_has_an_outcome_is_never_held(repository: Repository) -> None:
    ingest(repository, make_report(RESULTS))
    ingest(repository, report([], told=[one.symbol for one in RESULTS]))
    assert open_symbols() == set()
    assert not HeldDrop.objects.exists()


def test_what_is_held_stays_so_over_the_next_scans(drop: HeldDrop, repository: Repository) -> None:
    for _ in range(2):
        ingest(repository, report(RESULTS[:2]))
    assert open_symbols() == {one.symbol for one in RESULTS}
    assert HeldDrop.objects.count() == 1


def test_a_held_site_that_is_seen_again_was_open_all_along(drop: HeldDrop, repository: Repository) -> None:
    summary = ingest(repository, report(RESULTS[:5]))
    assert summary.reopened_sites == summary.new_sites == ()
    assert HeldSite.objects.filter(end="seen").count() == 3
    assert HeldSite.objects.filter(end="").count() == 3
    assert unbalanced() == []


def test_a_held_site_whose_outcome_is_told_later_is_closed_with_it(
    drop: HeldDrop, repository: Repository
) -> None:
    ingest(repository, report(RESULTS[:2], told=[RESULTS[2].symbol]))
    assert SiteState.objects.get(symbol=RESULTS[2].symbol).outcome == "structured-error"
    assert HeldSite.objects.get(end="outcome").site.symbol == RESULTS[2].symbol
    assert HeldSite.objects.filter(end="").count() == 5
    assert unbalanced() == []


def test_released_they_end_at_the_scan_at_which_they_vanished(
    drop: HeldDrop, repository: Repository, ada: User
) -> None:
    for _ in range(2):
        ingest(repository, report(RESULTS[:2]))
    assert held_drop_release(drop=drop, actor=ada, reason="The crate was dropped.") == 6
    assert open_symbols() == {one.symbol for one in RESULTS[:2]}
    closed = SiteState.objects.filter(is_open=False)
    assert {state.closed_scan_id for state in closed} == {drop.branch_scan.scan_run_id}
    events = SiteEvent.objects.filter(kind="closed")
    assert {event.branch_scan_id for event in events} == {drop.branch_scan_id}
    assert [row.open_count for row in BranchScan.objects.order_by("position")] == [8, 2, 2, 2]
    gone = SiteTally.objects.filter(branch_scan=BranchScan.objects.latest("position"), is_open=False)
    assert gone.aggregate(Sum("count"))["count__sum"] == 6
    assert unbalanced() == []


def test_a_released_site_that_comes_back_is_a_regression(
    drop: HeldDrop, repository: Repository, ada: User
) -> None:
    held_drop_release(drop=drop, actor=ada, reason="They are gone.")
    summary = ingest(repository, report(RESULTS))
    assert len(summary.reopened_sites) == 6
    assert unbalanced() == []


def test_kept_they_stay_open_and_can_be_released_later(
    drop: HeldDrop, repository: Repository, ada: User
) -> None:
    drop_keep(drop=drop, actor=ada, reason="The scanner lost them.")
    ingest(repository, report(RESULTS[:2]))
    assert open_symbols() == {one.symbol for one in RESULTS}
    held_drop_release(drop=drop, actor=ada, reason="Read again: they are gone.")
    assert open_symbols() == {one.symbol for one in RESULTS[:2]}


def test_a_ruling_has_a_reason_and_is_made_once(drop: HeldDrop, ada: User) -> None:
    with pytest.raises(AuditError, match="why"):
        held_drop_release(drop=drop, actor=ada, reason=" ")
    held_drop_release(drop=drop, actor=ada, reason="They are gone.")
    with pytest.raises(AuditError, match="already"):
        held_drop_release(drop=drop, actor=ada, reason="They are gone.")
    with pytest.raises(AuditError, match="already"):
        drop_keep(drop=drop, actor=ada, reason="They are not.")


def test_a_suppression_ends_when_its_held_site_is_released_and_not_before(
    repository: Repository, ada: User
) -> None:
    ingest(repository, make_report(RESULTS))
    site = FallbackSite.objects.get(symbol=RESULTS[7].symbol)
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="Reads a status word.")
    ingest(repository, report(RESULTS[:2]))
    migration = SiteMigration.objects.get(site=site)
    assert migration.status == Status.SUPPRESSED
    held_drop_release(drop=HeldDrop.objects.get(), actor=ada, reason="They are gone.")
    migration.refresh_from_db()
    assert migration.status == Status.OPEN


def test_whoever_may_rule_does_so_on_the_page_and_nobody_else(drop: HeldDrop) -> None:
    client, eve = Client(), make_user("eve")
    client.force_login(eve)
    queue = reverse("held-drops", args=["minitorch"])
    assert "6 of 8 open sites" in client.get(queue).content.decode()
    assert "6 sites vanished" in client.get(reverse("repository-detail", args=["minitorch"])).content.decode()
    assert (
        drop.get_absolute_url() in client.get(drop.branch_scan.scan_run.get_absolute_url()).content.decode()
    )
    answer = {"decision": "release", "reason": "They are gone."}
    rule = reverse("held-drop-rule", args=[drop.pk])
    assert b"Release:" not in client.get(drop.get_absolute_url()).content
    assert client.post(rule, answer).status_code == 403
    make_member(eve, Role.LEAD)
    assert b"Release:" in client.get(drop.get_absolute_url()).content
    for rubbish in ({}, {"decision": "x", "reason": "y"}, {"decision": "release"}):
        client.post(rule, rubbish)
        drop.refresh_from_db()
        assert drop.state == "waiting"
    assert client.post(rule, answer).status_code == 302
    drop.refresh_from_db()
    assert (drop.state, drop.decided_by) == ("released", eve)
    assert "Nothing is held" in client.get(queue).content.decode()
    assert "Released" in client.get(queue, {"ruled": "yes"}).content.decode()

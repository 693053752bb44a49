"""A person says whether a result is the site it was taken for."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.db.models import Model, Sum
from django.test import Client
from django.urls import reverse

from audit.errors import AuditError
from audit.models import (
    BranchScan,
    FallbackSite,
    Lineage,
    LineageDecision,
    LineageRuling,
    Repository,
    Result,
    SiteEvent,
    SiteState,
    SiteTally,
)
from audit.selectors.doubtful_links import doubtful_links
from audit.services.lineage_rulings import lineage_ruling_undo
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration, Suppression
from migrations_tracker.roles import Role
from migrations_tracker.services.lineage_rulings import lineage_rule
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

RELU = "minitorch_gpu::ops::relu"


@pytest.fixture
def repository() -> Repository:
    """Give a branch on which two edited places of one item were paired by a guess, and seen once more."""
    repository = make_repository()
    ingest(repository, make_report([make_result(RELU, form="a"), make_result(RELU, form="b", line=20)]))
    edited = [
        make_result(RELU, form="c", snippet="let y = read(x)"),
        make_result(RELU, form="d", line=20, snippet="let z = copy(x)"),
    ]
    for _ in range(2):
        ingest(repository, make_report(edited))
    return repository


@pytest.fixture
def guess(repository: Repository) -> Lineage:
    return Lineage.objects.filter(match_pass="nearest").earliest("pk")


@pytest.fixture
def ada() -> User:
    return make_user()


def everything() -> list[list[dict[str, object]]]:
    """Return what a split changes and an undo must bring back; a tally's or event's own key is none of it."""
    models: tuple[type[Model], ...] = (BranchScan, Lineage, Result, SiteState)
    found = [list(model._default_manager.order_by("pk").values()) for model in models]
    for state in found[-1]:
        del state["id"]
    found[-1].sort(key=lambda state: (state["branch_id"], state["site_id"]))
    columns = ("branch_scan", "is_open", "rule_id", "crate", "outcome", "count")
    found.append([dict(row) for row in SiteTally.objects.order_by(*columns).values(*columns)])
    events = SiteEvent.objects.order_by("branch_scan", "site").values("branch_scan", "site", "kind")
    found.append([dict(row) for row in events])
    return found


def assert_balanced() -> None:
    before = 0
    for row in BranchScan.objects.all():
        assert row.open_count == before + row.new_count + row.reopened_count - row.closed_count
        assert row.tallies.filter(is_open=True).aggregate(Sum("count"))["count__sum"] == row.open_count
        before = row.open_count
    assert SiteState.objects.filter(is_open=True).count() == before
    closed = SiteTally.objects.filter(branch_scan=row, is_open=False).aggregate(Sum("count"))["count__sum"]
    assert SiteState.objects.filter(is_open=False).count() == (closed or 0)
    # The dashboard shows what the newest scan counted, and leads to lists of what stands there now.
    columns = ("is_open", "rule_id", "crate", "outcome")
    counted = {tuple(one[:4]): one[4] for one in row.tallies.values_list(*columns, "count")}
    states = SiteState.objects.filter(branch=row.branch).order_by()
    assert dict(Counter(states.values_list(*columns))) == counted


def test_guesses_are_asked_about_until_somebody_rules(repository: Repository, ada: User) -> None:
    assert doubtful_links(repository=repository).total == 2
    link = doubtful_links(repository=repository).links[0]
    assert link.before is not None
    assert link.before.pk < link.lineage.result_id
    lineage_rule(lineage=link.lineage, decision=LineageDecision.SAME, actor=ada, reason="")
    assert doubtful_links(repository=repository).total == 1
    assert doubtful_links(repository=repository, is_ruled=True).total == 1


def test_another_site_gets_all_that_followed_and_the_old_one_ends(guess: Lineage, ada: User) -> None:
    old = guess.site
    ruling = lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")
    split = ruling.split_site
    assert split is not None
    assert (old.results.count(), split.results.count()) == (1, 2)
    ended, begun = SiteState.objects.get(site=old), SiteState.objects.get(site=split)
    assert (ended.is_open, ended.closed_scan, ended.outcome) == (False, guess.scan_run, "")
    assert (begun.is_open, begun.first_seen_scan) == (True, guess.scan_run)
    assert SiteMigration.objects.get(site=split).status == "open"
    assert SiteMigration.objects.filter(site=old).exists()
    assert_balanced()


def test_a_suppression_of_the_old_one_ends_with_it(guess: Lineage, ada: User) -> None:
    lea = make_user("lea", role=Role.LEAD)
    site_migration_transition(site=guess.site, to=Status.SUPPRESSED, actor=lea, reason="one number")
    lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")
    assert Suppression.objects.get().ended_at is not None
    assert SiteMigration.objects.get(site=guess.site_id).status == "open"


def test_the_next_scan_knows_both(repository: Repository, guess: Lineage, ada: User) -> None:
    lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")
    sites = FallbackSite.objects.count()
    result = Result.objects.get(pk=guess.result_id)
    again = [
        make_result(RELU, form="c", snippet="let y = read(x)"),
        make_result(RELU, form="d", line=20, snippet="let z = copy(x)"),
    ]
    summary = ingest(repository, make_report(again))
    assert summary.new_sites == summary.reopened_sites == summary.absent_sites == ()
    assert FallbackSite.objects.count() == sites
    assert Result.objects.filter(site=result.site, scan_run=summary.scan_run).count() == 1
    assert_balanced()


def test_undone_it_is_as_it_was(guess: Lineage, ada: User) -> None:
    before = everything()
    ruling = lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")
    assert everything() != before
    lineage_ruling_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert everything() == before
    assert_balanced()
    with pytest.raises(AuditError, match="already"):
        lineage_ruling_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)


def test_a_split_needs_a_reason_and_one_ruling_stands_at_a_time(guess: Lineage, ada: User) -> None:
    with pytest.raises(AuditError, match="why"):
        lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason=" ")
    lineage_rule(lineage=guess, decision=LineageDecision.SAME, actor=ada, reason="")
    with pytest.raises(AuditError, match="Undo"):
        lineage_rule(lineage=guess, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")


def test_a_sites_first_result_is_nothing_to_split(repository: Repository, ada: User) -> None:
    first = Lineage.objects.filter(match_pass="new").earliest("pk")
    with pytest.raises(AuditError, match="begins"):
        lineage_rule(lineage=first, decision=LineageDecision.NEW, actor=ada, reason="Not alike.")


def test_whoever_may_rule_does_so_on_the_page_and_nobody_else(guess: Lineage, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    page = reverse("doubtful-links", args=[guess.site.repository.slug])
    assert b"Another site" not in client.get(page).content
    answer = {"decision": "new", "reason": "Not alike."}
    assert client.post(reverse("lineage-rule", args=[guess.pk]), answer).status_code == 403
    make_member(ada, Role.LEAD)
    assert b"Another site" in client.get(page).content
    for rubbish in ({}, {"decision": "x"}, {"decision": "new"}):
        client.post(reverse("lineage-rule", args=[guess.pk]), rubbish)
        assert not LineageRuling.objects.exists()
    assert client.post(reverse("lineage-rule", args=[guess.pk]), answer).status_code == 302
    ruling = LineageRuling.objects.get()
    assert (ruling.actor, ruling.decision) == (ada, "new")
    assert "Not alike." in client.get(page, {"ruled": "yes"}).content.decode()
    client.post(reverse("lineage-undo", args=[ruling.pk]))
    ruling.refresh_from_db()
    assert ruling.undone_by == ada

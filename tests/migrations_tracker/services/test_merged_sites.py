"""A person says that a site which a scan took for a new one was known before."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.errors import AuditError
from audit.models import (
    FallbackSite,
    HeldSite,
    LineageRuling,
    PrecedentKind,
    Repository,
    Result,
    SiteEvent,
    SiteState,
)
from audit.scanner.report import Result as Found
from audit.selectors.field_precision import field_precision, labels
from audit.selectors.site_identity import site_identity
from audit.services.precedents import precedent_record
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration, Suppression, Transition
from migrations_tracker.roles import Role
from migrations_tracker.services.lineage_rulings import lineage_join, lineage_undo
from migrations_tracker.services.site_migrations import site_migration_transition
from migrations_tracker.services.suppressions import suppression_ask, suppression_withdraw
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user
from tests.migrations_tracker.services.test_lineage_rulings import assert_balanced, everything

pytestmark = pytest.mark.django_db

RELU, CLAMP = "minitorch_gpu::ops::relu", "minitorch_gpu::shapes::clamp_min"
OTHER = make_result("minitorch_gpu::ops::gelu")
FILES = ("minitorch-gpu/src/ops.rs", "minitorch-gpu/src/shapes.rs")
WHY = "The kernel was written anew under another name."


def rewritten(line: int = 40) -> Found:
    return make_result(CLAMP, line=line, snippet="let all_of_it = written_anew(under, another, name);")


def scan(repository: Repository, *results: Found) -> None:
    ingest(repository, make_report([OTHER, *results], files=FILES))


@pytest.fixture
def repository() -> Repository:
    repository = make_repository()
    scan(repository, make_result(RELU))
    return repository


@pytest.fixture
def ada() -> User:
    return make_user()


def site(symbol: str) -> FallbackSite:
    return FallbackSite.objects.get(symbol=symbol)


@pytest.mark.parametrize("scans_between", [0, 2])
def test_the_earlier_site_goes_on_or_came_back_and_an_undo_brings_all_back(
    repository: Repository, ada: User, scans_between: int
) -> None:
    for _ in range(scans_between):
        scan(repository)
    scan(repository, rewritten())
    scan(repository, rewritten())
    earlier, later, before = site(RELU), site(CLAMP), everything()
    forms = list(FallbackSite.objects.order_by("pk").values())
    ruling = lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    assert (earlier.results.count(), later.results.count()) == (3, 0)
    state = SiteState.objects.get(site=earlier)
    assert (state.is_open, state.symbol) == (True, CLAMP)
    assert not SiteState.objects.filter(site=later).exists()
    kinds = list(
        SiteEvent.objects.filter(site=earlier).order_by("branch_scan").values_list("kind", flat=True)
    )
    assert kinds == (["new", "closed", "reopened"] if scans_between else ["new"])
    assert not SiteEvent.objects.filter(site=later).exists()
    assert_balanced()
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert everything() == before
    assert list(FallbackSite.objects.order_by("pk").values()) == forms
    assert_balanced()
    with pytest.raises(AuditError, match="already"):
        lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)


@pytest.mark.parametrize("line", [1, 40, 900])
def test_the_next_scans_know_the_one_and_never_the_other(
    repository: Repository, ada: User, line: int
) -> None:
    scan(repository, rewritten())
    earlier, later = site(RELU), site(CLAMP)
    ruling = lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    scan(repository, rewritten(line))
    assert (earlier.results.count(), later.results.count()) == (3, 0)
    scan(repository)
    assert not SiteState.objects.get(site=earlier).is_open
    scan(repository, rewritten(line))
    assert SiteState.objects.get(site=earlier).is_open
    assert FallbackSite.objects.count() == 3
    assert_balanced()
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert (earlier.results.count(), later.results.count()) == (1, 3)
    assert (SiteState.objects.get(site=earlier).is_open, SiteState.objects.get(site=later).is_open) == (
        False,
        True,
    )
    assert_balanced()
    scan(repository, rewritten(line + 1))
    assert later.results.count() == 4


@pytest.mark.parametrize("scans_between", [0, 2])
def test_a_held_site_goes_on_as_the_later_one_and_an_undo_holds_it_again(
    repository: Repository, ada: User, scans_between: int
) -> None:
    between: tuple[list[Found], ...] = ([],) * scans_between
    for results in (*between, [rewritten()], [rewritten()]):
        ingest(repository, make_report([OTHER, *results], files=FILES), is_told=False)
    earlier, later, before = site(RELU), site(CLAMP), everything()
    assert SiteState.objects.get(site=earlier).is_open
    [proposed] = site_identity(site=later).candidates
    assert (proposed.site, proposed.is_open) == (earlier, True)
    ruling = lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    assert HeldSite.objects.get().end == "merged"
    assert (earlier.results.count(), later.results.count()) == (3, 0)
    kinds = SiteEvent.objects.filter(site=earlier).order_by("branch_scan").values_list("kind", flat=True)
    assert list(kinds) == (["new", "closed", "reopened"] if scans_between else ["new"])
    assert SiteState.objects.get(site=earlier).symbol == CLAMP
    assert_balanced()
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert everything() == before
    assert HeldSite.objects.get().end == ""
    assert_balanced()


def test_two_that_one_scan_saw_are_two_sites(repository: Repository, ada: User) -> None:
    scan(repository, make_result(RELU), rewritten())
    scan(repository, rewritten())
    before = everything()
    for later, earlier in ((CLAMP, RELU), (RELU, CLAMP), (RELU, RELU)):
        with pytest.raises(AuditError):
            lineage_join(later=site(later), earlier=site(earlier), actor=ada, reason=WHY)
    assert everything() == before
    assert not LineageRuling.objects.exists()


def test_a_migration_that_was_over_is_reopened_and_one_that_is_begun_is_not_hidden(
    repository: Repository, ada: User
) -> None:
    scan(repository)
    earlier = site(RELU)
    site_migration_transition(site=earlier, to=Status.MIGRATED, actor=ada, reason="It refuses now.")
    scan(repository, rewritten())
    later = site(CLAMP)
    site_migration_transition(site=later, to=Status.ACCEPTED, actor=ada)
    with pytest.raises(PlanError, match="accepted"):
        lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    site_migration_transition(site=later, to=Status.OPEN, actor=ada, reason="It is an older one.")
    lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    assert SiteMigration.objects.get(site=earlier).status == Status.REOPENED
    assert Transition.objects.filter(site_migration__site=earlier).latest("pk").cause == "scanner"


def test_a_question_about_the_later_site_is_answered_before_it_is_hidden(
    repository: Repository, ada: User
) -> None:
    scan(repository)
    scan(repository, rewritten())
    earlier, later = site(RELU), site(CLAMP)
    suppression_ask(subject=later, justification="one number", actor=ada)
    with pytest.raises(PlanError, match="ada asks for a suppression"):
        lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    suppression_withdraw(subject=later, actor=ada)
    lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)


def test_a_suppression_of_one_that_is_gone_again_when_a_merge_is_undone_ends(
    repository: Repository, ada: User
) -> None:
    scan(repository)
    scan(repository, rewritten())
    earlier = site(RELU)
    ruling = lineage_join(later=site(CLAMP), earlier=earlier, actor=ada, reason=WHY)
    lea = make_user("lea", role=Role.LEAD)
    site_migration_transition(site=earlier, to=Status.SUPPRESSED, actor=lea, reason="one number")
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert Suppression.objects.get().ended_at is not None
    assert SiteMigration.objects.get(site=earlier).status == Status.OPEN


def test_rulings_on_both_are_one_judgement_of_the_site_that_stays(repository: Repository, ada: User) -> None:
    earlier = site(RELU)
    precedent_record(site=earlier, kind=PrecedentKind.CATEGORY, decision="A", reason=WHY, actor=ada)
    scan(repository, rewritten())
    later = site(CLAMP)
    precedent_record(site=later, kind=PrecedentKind.NOT_A_SITE, reason=WHY, actor=ada)
    both = field_precision(repositories=Repository.objects.all())
    assert (both.judged, both.not_sites) == (2, 1)
    ruling = lineage_join(later=later, earlier=earlier, actor=ada, reason=WHY)
    found = field_precision(repositories=Repository.objects.all())
    assert (found.judged, found.not_sites) == (1, 1)
    [label] = labels(repository=repository)
    assert (label.line, label.end_line) == (40, rewritten().region.end_line)
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert field_precision(repositories=Repository.objects.all()).judged == 2


def test_what_ended_as_it_began_is_proposed_first(repository: Repository) -> None:
    scan(repository, make_result(RELU), make_result("minitorch_gpu::shapes::old", line=3))
    scan(repository, make_result(RELU))
    scan(repository, rewritten())
    proposed = [state.symbol for state in site_identity(site=site(CLAMP)).candidates]
    assert proposed == [RELU, "minitorch_gpu::shapes::old"]
    assert not site_identity(site=site(RELU)).candidates


def test_whoever_may_rule_merges_on_the_page_and_nobody_else(repository: Repository, ada: User) -> None:
    scan(repository, rewritten())
    earlier, later = site(RELU), site(CLAMP)
    client = Client()
    client.force_login(ada)
    page, act = reverse("site-identity", args=[later.pk]), reverse("site-merge", args=[later.pk])
    answer = {"earlier": f"#{earlier.pk}", "reason": WHY}
    assert b"Merge into" not in client.get(page).content
    assert client.post(act, answer).status_code == 403
    make_member(ada, Role.LEAD)
    assert b"Merge into" in client.get(page).content
    for rubbish in (
        {},
        {"earlier": "x"},
        {"earlier": "9" * 30},
        {"earlier": earlier.pk},
        {"earlier": later.pk},
    ):
        client.post(act, rubbish)
        assert not LineageRuling.objects.exists()
    assert client.post(act, answer).headers["Location"] == reverse("site-identity", args=[earlier.pk])
    ruling = LineageRuling.objects.get()
    assert (ruling.actor, ruling.decision, ruling.merged_site) == (ada, "merge", later)
    for shown in (page, reverse("site-identity", args=[earlier.pk])):
        assert WHY in client.get(shown).content.decode()
    guesses = reverse("doubtful-links", args=[repository.slug])
    assert WHY in client.get(guesses, {"ruled": "yes"}).content.decode()
    assert client.get(reverse("site-detail", args=[later.pk])).status_code == 200
    undone = client.post(reverse("lineage-undo", args=[ruling.pk]), {"site": later.pk})
    assert undone.headers["Location"] == page
    assert Result.objects.filter(site=later).count() == 1

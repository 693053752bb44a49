from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from audit.errors import AuditError
from audit.models import (
    FallbackSite,
    Precedent,
    PrecedentKind,
    PrecedentOpinion,
    Result,
    Stance,
    TextReference,
)
from audit.selectors.precedents import contradictions
from audit.services.precedents import precedent_opinion_add, precedent_record
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Suppression
from migrations_tracker.roles import Role
from migrations_tracker.selectors.site_knowledge import SiteKnowledge, site_knowledge
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.precedents import precedent_follow
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_own_policy, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

OTHER = 'fn shape() {\n    println!("{:?}", self.shape());\n}\n'


@pytest.fixture
def ada() -> User:
    return make_user(role=Role.LEAD)


@pytest.fixture
def sites() -> list[FallbackSite]:
    """Two sites of one rule and form, one with the same code of another rule, one like none of them."""
    ingest(
        make_repository(),
        make_report(
            [
                make_result("minitorch_gpu::ops::relu"),
                make_result("minitorch_gpu::ops::gelu", line=40),
                make_result("minitorch_gpu::ops::silu", line=80, rule_id="FT008", form="download"),
                make_result("minitorch_gpu::ops::shape", line=99, rule_id="FT008", form="x", snippet=OTHER),
            ]
        ),
    )
    return list(FallbackSite.objects.order_by("path", "symbol").order_by("pk"))


def of(sites: list[FallbackSite], name: str) -> FallbackSite:
    return next(site for site in sites if site.symbol.endswith(f"::{name}"))


def known(site: FallbackSite) -> SiteKnowledge:
    return site_knowledge(site=site, result=Result.objects.filter(site=site).latest("pk"), seen=None)


def suppress(site: FallbackSite, actor: User, reason: str = "Setup code, see #12.") -> Precedent:
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=actor, reason=reason, clause_id="A3")
    return Precedent.objects.get(site=site, ended_at=None)


def test_a_ruling_is_kept_with_its_code_and_found_again_by_form_and_by_code(
    sites: list[FallbackSite], ada: User
) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    assert (precedent.kind, precedent.clause_id, precedent.decided_by) == ("suppressed", "A3", ada)
    assert "gpu_to_cpu" in precedent.code
    same_form = known(of(sites, "gelu")).precedents
    assert [(one.id, one.is_same_form, one.percent) for one in same_form] == [(precedent.pk, True, 100)]
    same_code = known(of(sites, "silu")).precedents
    assert [(one.id, one.is_same_form, one.percent) for one in same_code] == [(precedent.pk, False, 100)]
    assert known(of(sites, "shape")).precedents == []
    assert [one.id for one in known(of(sites, "relu")).rulings] == [precedent.pk]


def test_following_a_precedent_rules_the_same_and_is_counted(sites: list[FallbackSite], ada: User) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    gelu = of(sites, "gelu")
    precedent_follow(precedent=precedent, site=gelu, actor=ada)
    assert f"As precedent {precedent.pk}" in Suppression.objects.get(site=gelu).justification
    assert PrecedentOpinion.objects.get().stance == Stance.AGREE
    assert known(gelu).rulings[0].clause_id == "A3"
    assert known(of(sites, "silu")).precedents[-1].followed == 1


def test_differing_says_why_and_changes_nothing(sites: list[FallbackSite], ada: User) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    gelu = of(sites, "gelu")
    with pytest.raises(AuditError, match="what is different"):
        precedent_opinion_add(precedent=precedent, site=gelu, stance=Stance.DIFFER, actor=ada)
    for _ in range(2):
        precedent_opinion_add(
            precedent=precedent, site=gelu, stance=Stance.DIFFER, actor=ada, reason="In the hot path."
        )
    assert PrecedentOpinion.objects.count() == 1
    assert known(gelu).precedents[0].stance == Stance.DIFFER
    assert not Suppression.objects.filter(site=gelu).exists()


def test_a_ruling_that_is_taken_back_is_offered_no_more(sites: list[FallbackSite], ada: User) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    site_migration_transition(site=of(sites, "relu"), to=Status.OPEN, actor=ada, reason="It is hot.")
    precedent.refresh_from_db()
    assert precedent.ended_because == "It is hot."
    assert known(of(sites, "gelu")).precedents == []
    with pytest.raises(PlanError, match="not in force"):
        precedent_follow(precedent=precedent, site=of(sites, "gelu"), actor=ada)
    assert not PrecedentOpinion.objects.exists()


def test_a_clause_of_another_repository_is_not_one_of_the_same_number_here(
    sites: list[FallbackSite], ada: User
) -> None:
    relu = of(sites, "relu")
    make_own_policy(relu.repository, ada)
    site_migration_transition(site=relu, to=Status.ACCEPTED, actor=ada, reason="By P1.", clause_id="P1")
    precedent = Precedent.objects.get(site=relu)
    for name, has_own in (("bare", False), ("other", True)):
        elsewhere = make_repository(name)
        if has_own:
            make_own_policy(elsewhere, ada)
        ingest(elsewhere, make_report([make_result("minitorch_gpu::ops::relu")]))
        there = FallbackSite.objects.get(repository=elsewhere)
        precedent_follow(precedent=precedent, site=there, actor=ada)
        followed = Precedent.objects.get(site=there)
        assert (followed.kind, followed.clause_id, followed.policy_version) == ("accepted", "", "")
    gelu = of(sites, "gelu")
    precedent_follow(precedent=precedent, site=gelu, actor=ada)
    assert Precedent.objects.get(site=gelu).clause_id == "P1"


def test_an_acceptance_that_is_taken_back_is_in_force_no_more(sites: list[FallbackSite], ada: User) -> None:
    relu = of(sites, "relu")
    site_migration_transition(site=relu, to=Status.ACCEPTED, actor=ada, reason="A real one.")
    site_migration_transition(site=relu, to=Status.PLANNED, actor=ada)
    site_migration_transition(site=relu, to=Status.ACCEPTED, actor=ada, reason="Not this month.")
    assert Precedent.objects.filter(site=relu, ended_at=None).count() == 1
    site_migration_transition(site=relu, to=Status.OPEN, actor=ada, reason="It is none.")
    assert not Precedent.objects.filter(site=relu, ended_at=None).exists()
    assert Precedent.objects.filter(site=relu).latest("pk").ended_because == "It is none."


def test_what_can_not_be_followed_leaves_no_opinion(sites: list[FallbackSite], ada: User) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    suppress(of(sites, "gelu"), ada, reason="Of its own.")
    with pytest.raises(Exception, match=r".+"):
        precedent_follow(precedent=precedent, site=of(sites, "gelu"), actor=ada)
    assert not PrecedentOpinion.objects.exists()


def test_rulings_in_force_that_contradict_are_listed(sites: list[FallbackSite], ada: User) -> None:
    relu, gelu = of(sites, "relu"), of(sites, "gelu")
    suppress(relu, ada)
    assert contradictions(precedents=Precedent.objects.all()) == []
    category = precedent_record(
        site=gelu, kind=PrecedentKind.CATEGORY, decision="A", reason="Root cause.", actor=ada
    )
    (pair,) = contradictions(precedents=Precedent.objects.all())
    assert {pair.one.pk, pair.other.pk} == {category.pk, Precedent.objects.get(site=relu).pk}
    assert pair.percent == 100
    precedent_record(site=gelu, kind=PrecedentKind.NOT_A_SITE, reason="Test mock.", actor=ada)
    category.refresh_from_db()
    assert category.ended_at is not None
    assert contradictions(precedents=Precedent.objects.all()) == []


def test_where_all_were_ruled_alike_no_code_is_read(
    sites: list[FallbackSite], ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("relu", "gelu", "silu", "shape"):
        suppress(of(sites, name), ada)
    with django_assert_num_queries(1):
        assert contradictions(precedents=Precedent.objects.all()) == []
    # One that differs brings its rule and form in, and not the others.
    Precedent.objects.filter(site=of(sites, "gelu")).update(kind=PrecedentKind.ACCEPTED)
    with django_assert_num_queries(3):
        (pair,) = contradictions(precedents=Precedent.objects.all())
        assert {pair.one.decided_by, pair.other.decided_by} == {ada}
    assert {pair.one.site_id, pair.other.site_id} == {of(sites, "relu").pk, of(sites, "gelu").pk}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": PrecedentKind.CATEGORY, "decision": "D"}, "can't be ruled"),
        ({"kind": PrecedentKind.SEVERITY, "decision": ""}, "can't be ruled"),
        ({"kind": PrecedentKind.NOT_A_SITE, "reason": " "}, "Say why"),
        ({"kind": PrecedentKind.NOT_A_SITE, "clause_id": "X99"}, "no clause X99"),
    ],
)
def test_a_ruling_that_means_nothing_is_refused(
    sites: list[FallbackSite], ada: User, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        precedent_record(**{"site": sites[0], "reason": "why", "actor": ada, **fields})  # type: ignore[arg-type]


def test_what_a_comment_and_a_reason_name_leads_both_ways(
    sites: list[FallbackSite], ada: User, client: Client
) -> None:
    site = of(sites, "relu")
    comment_create(subject=site, author=ada, text="Fixed by PR #7.")
    other = of(sites, "gelu")
    suppress(site, ada)
    assert {(r.kind, r.target) for r in TextReference.objects.all()} == {("pull", "7"), ("issue", "12")}
    client.force_login(ada)
    address = reverse("reference-detail", args=[site.repository.slug, "pull", "7"])
    assert address in client.get(site.get_absolute_url()).content.decode()
    assert site.get_absolute_url() in client.get(address).content.decode()
    comment_create(subject=other, author=ada, text="See #7.")
    for kind in ("pull", "issue"):
        address = reverse("reference-detail", args=[site.repository.slug, kind, "7"])
        text = client.get(address).content.decode()
        assert site.get_absolute_url() in text
        assert other.get_absolute_url() in text, "`#7` and `PR #7` are one"


def test_the_pages_offer_precedents_to_those_who_may(sites: list[FallbackSite], ada: User) -> None:
    precedent = suppress(of(sites, "relu"), ada)
    gelu = of(sites, "gelu")
    client, root = Client(), Client()
    client.force_login(make_user("eve"))
    root.force_login(make_user("root", is_superuser=True))
    opinion = reverse("precedent-opinion", args=[precedent.pk])
    assert client.post(opinion, {"site": gelu.pk, "stance": "agree"}).status_code == 403
    assert "Rule the same here" not in client.get(gelu.get_absolute_url()).content.decode()
    assert "Rule the same here" in root.get(gelu.get_absolute_url()).content.decode()
    assert root.post(opinion, {"site": "x", "stance": "agree"}).status_code == 404
    assert root.post(opinion, {"site": gelu.pk, "stance": "agree"}).status_code == 302
    ruling = reverse("site-ruling", args=[gelu.pk])
    assert client.post(ruling, {"ruling": "category:A", "reason": "x"}).status_code == 403
    root.post(ruling, {"ruling": "suppressed", "reason": "x"})
    root.post(ruling, {"ruling": "severity:note", "reason": "rare"})
    assert set(Precedent.objects.filter(site=gelu).values_list("kind", "decision")) == {
        ("suppressed", ""),
        ("severity", "note"),
    }
    for address in (
        reverse("precedent-list") + "?kind=suppressed&rule=FT001&q=relu&ended=1&page=null",
        reverse("precedent-contradictions"),
        precedent.get_absolute_url(),
    ):
        assert client.get(address).status_code == 200, address


def test_a_ruling_does_not_replace_a_newer_one_that_was_not_seen(
    sites: list[FallbackSite], ada: User
) -> None:
    relu = of(sites, "relu")
    root = Client()
    root.force_login(make_user("root", is_superuser=True))
    seen = re.findall(r'name="seen" value="(\d+)"', root.get(relu.get_absolute_url()).content.decode())
    theirs = precedent_record(
        site=relu, kind=PrecedentKind.CATEGORY, decision="A", reason="Root cause.", actor=ada
    )
    mine = {"ruling": "category:B", "reason": "Local.", "clause": "", "seen": seen[0]}
    address = reverse("site-ruling", args=[relu.pk])
    for given in (mine, {key: value for key, value in mine.items() if key != "seen"}):
        page = root.post(address, given, follow=True).content.decode()
        assert "ada ruled on this site meanwhile: Fix category: A." in page
        assert "Local.</textarea>" in page
        assert '<option value="category:B" selected>' in page
    assert Precedent.objects.get(site=relu, ended_at=None) == theirs
    root.post(address, {**mine, "seen": theirs.pk})
    assert Precedent.objects.get(site=relu, ended_at=None).decision == "B"


def test_following_a_precedent_does_not_replace_a_newer_ruling_that_was_not_seen(
    sites: list[FallbackSite], ada: User
) -> None:
    relu, gelu = of(sites, "relu"), of(sites, "gelu")
    none = precedent_record(site=relu, kind=PrecedentKind.NOT_A_SITE, reason="Shape data.", actor=ada)
    theirs = precedent_record(
        site=gelu, kind=PrecedentKind.CATEGORY, decision="A", reason="Root cause.", actor=ada
    )
    with pytest.raises(AuditError, match="ruled on this site meanwhile"):
        precedent_follow(precedent=none, site=gelu, actor=ada, seen=0)
    assert not PrecedentOpinion.objects.exists()
    precedent_follow(precedent=none, site=gelu, actor=ada, seen=theirs.pk)
    assert Precedent.objects.get(site=gelu, ended_at=None).kind == PrecedentKind.NOT_A_SITE

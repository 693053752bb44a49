"""A repository's own policy on its pages: who may publish, what is shown, and how editions compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Precedent, Repository, RepositoryPolicy
from audit.rules import RULES
from audit.scanner.levels import levels_by_rule
from audit.scanner.profile import load_profile
from audit.scanner.report import Level
from migrations_tracker.roles import Role
from migrations_tracker.selectors import policy_pages
from tests.factories import make_member, make_own_policy, make_repository, make_user
from tests.migrations_tracker.views.own_policies import CLAUSE, WHY, page_of, publish, with_text


def test_without_anything_published_the_house_policy_holds(
    ada_client: Client, repository: Repository
) -> None:
    text = ada_client.get(page_of(repository)).content.decode()
    assert "Version 1:" in text
    assert "It has none: the house’s clauses are all that holds here." in text
    assert "<select" not in text, "who may not publish is offered no form"
    assert text.count('<span class="muted">the same</span>') == len(RULES)


def test_a_lead_publishes_levels_and_sees_how_the_command_line_says_them(
    lea_client: Client, repository: Repository
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    levels = {rule.id: rule.level.value for rule in RULES} | {"FT014": "none"}
    response = lea_client.post(address, {**levels, "why": WHY, "based_on": "0"}, follow=True)
    text = response.content.decode()
    assert "Published as version 1+1." in text
    assert "FT014 = &quot;none&quot;" in text or 'FT014 = "none"' in text
    assert "--level FT014=none" in text
    assert "FT001=" not in text
    assert RepositoryPolicy.objects.get().levels == {"FT014": "none"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"why": ""}, "Say why"),
        ({"based_on": "7"}, "Somebody published another version meanwhile"),
        ({"FT014": "note"}, "nothing to publish"),
        ({"FT014": "off"}, "is no level"),
    ],
)
def test_levels_that_cannot_be_published_say_why_and_keep_what_was_chosen(
    lea_client: Client, repository: Repository, changes: dict[str, str], message: str
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    response = lea_client.post(address, {"FT014": "none", "why": WHY, "based_on": "0", **changes})
    assert response.status_code == 422
    text = response.content.decode()
    assert message in text
    assert ('<option value="none" selected>' in text) == ("FT014" not in changes)
    assert not RepositoryPolicy.objects.exists()


def test_the_levels_are_a_profile_that_a_scan_takes(
    ada_client: Client, repository: Repository, tmp_path: Path
) -> None:
    make_own_policy(repository, make_user("hedy"))
    address = reverse("repository-policy-profile", args=[repository.slug])
    response = ada_client.get(address)
    assert response["Content-Disposition"] == 'attachment; filename="ferroaudit-levels.toml"'
    path = tmp_path / "levels.toml"
    path.write_bytes(response.content)
    assert levels_by_rule(load_profile(path).levels, RULES) == {"FT014": Level.NONE}
    assert "# The levels of policy version 1+2." in response.content.decode()
    assert ada_client.get(address, {"version": "1"}).content.decode().endswith("[levels]\n")
    assert ada_client.get(address, {"version": "9"}).status_code == 404


def test_a_lead_adds_changes_and_drops_a_clause(lea_client: Client, repository: Repository) -> None:
    added = lea_client.post(reverse("repository-clause-add", args=[repository.slug]), CLAUSE, follow=True)
    assert "Published as version 1+1." in added.content.decode()
    detail = reverse("repository-clause", args=[repository.slug, "P1"])
    text = lea_client.get(detail).content.decode()
    assert "The solver crate has no host body." in text
    for address in (
        reverse("rule-detail", args=["FT005"]),
        reverse("form-detail", args=["early-return"]),
    ):
        assert address in text
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert 'value="FT005"' in lea_client.get(edit).content.decode()
    changed = {**CLAUSE, "text": "The solver crate has no ungated host body.", "based_on": "1"}
    assert lea_client.post(edit, changed).status_code == 302
    dropped = lea_client.post(edit, {"do": "drop", "why": "The crate is gone.", "based_on": "2"}, follow=True)
    assert "Published as version 1+3." in dropped.content.decode()
    text = lea_client.get(detail).content.decode()
    assert "The clause is not in force any more." in text
    assert "no ungated host body" in text
    assert lea_client.get(edit).status_code == 404


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "This field is required."),
        ({"why": ""}, "This field is required."),
        ({"form_keys": "nothing-such"}, "There is no form <code>nothing-such</code>"),
        ({"rules": ["FT099"]}, "FT099 is not one of the available choices."),
        ({"based_on": "3"}, "Somebody published another version meanwhile"),
    ],
)
def test_a_clause_that_cannot_be_published_says_why(
    lea_client: Client, repository: Repository, changes: dict[str, object], message: str
) -> None:
    address = reverse("repository-clause-add", args=[repository.slug])
    response = lea_client.post(address, {**CLAUSE, **changes})
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not RepositoryPolicy.objects.exists()


def test_dropping_without_a_reason_is_refused(lea_client: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    response = lea_client.post(edit, {"do": "drop", "why": "", "based_on": "2"})
    assert response.status_code == 422
    assert "Say why" in response.content.decode()
    assert RepositoryPolicy.objects.count() == 2


def test_an_engineer_sees_the_policy_and_publishes_none(ada_client: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    text = ada_client.get(page_of(repository)).content.decode()
    assert "1+2" in text
    assert "No host body in the solver" in text
    for name in ("repository-clause-add", "repository-policy-levels"):
        assert ada_client.post(reverse(name, args=[repository.slug]), CLAUSE).status_code == 403
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert ada_client.post(edit, CLAUSE).status_code == 403


def test_an_old_version_is_shown_as_it_was(ada_client: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    text = ada_client.get(f"{page_of(repository)}?version=1").content.decode()
    assert "This version is not in force any more." in text
    assert "--level" not in text
    for number in ("3", "x", "-1", "9" * 30):
        assert ada_client.get(f"{page_of(repository)}?version={number}").status_code == 404


def test_a_branch_that_was_judged_under_another_version_says_so(
    ada_client: Client, site: FallbackSite
) -> None:
    repository = site.repository
    scan = site.first_seen_scan
    scan.policy_version = "1"
    scan.save(update_fields=["policy_version"])
    assert "was judged under version" not in ada_client.get(page_of(repository)).content.decode()
    make_own_policy(repository, make_user("hedy"))
    assert "was judged under version 1 and" in ada_client.get(page_of(repository)).content.decode()
    scan.policy_version = "1+1"
    scan.save(update_fields=["policy_version"])
    text = ada_client.get(scan.get_absolute_url()).content.decode()
    assert f'<a href="{page_of(repository)}?version=1">version 1+1</a>' in text


def test_editions_are_compared_word_by_word(lea_client: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert lea_client.post(edit, {**CLAUSE, "based_on": "2"}).status_code == 302
    compare = reverse("policy-compare")
    text = lea_client.get(
        compare, {"from": f"{repository.slug}:1+2", "to": f"{repository.slug}:1+3"}
    ).content.decode()
    assert "0 clauses added, 0 removed, 1 changed, 0 levels changed" in text
    assert "<del>, gated or not</del>" in text
    assert "<ins>, FT005</ins>" in text
    text = lea_client.get(compare, {"from": "1", "to": f"{repository.slug}:1+2"}).content.decode()
    assert "1 clause added, 0 removed, 0 changed, 1 level changed" in text
    text = lea_client.get(compare, {"from": "1", "to": "1"}).content.decode()
    assert "No clause and no level differs." in text
    assert lea_client.get(compare).status_code == 200


def test_editions_of_repositories_one_has_no_role_in_are_not_found(client: Client, db: None) -> None:
    mine, other = make_repository("mine"), make_repository("secretorch")
    make_own_policy(other, make_user("hedy"))
    reader = make_user("eve", role=None)
    make_member(reader, Role.READER, mine)
    client.force_login(reader)
    compare = reverse("policy-compare")
    assert "secretorch" not in client.get(compare).content.decode()
    assert "secretorch" not in client.get(reverse("policy")).content.decode()
    for value in (
        "secretorch:1+1",
        "mine:1+1",
        "secretorch:1",
        "1+1",
        "9",
        "nowhere:1+1",
        ":",
        "secretorch:1+99",
    ):
        assert client.get(compare, {"from": "1", "to": value}).status_code == 404, value


def test_a_ruling_may_rest_on_a_clause_of_the_repository(lea_client: Client, site: FallbackSite) -> None:
    ruling = {"ruling": "category:B", "reason": "The solver is next.", "clause": "p1"}
    address = reverse("site-ruling", args=[site.pk])
    lea_client.post(address, ruling)
    assert not Precedent.objects.exists(), "the repository has no clause of its own yet"
    make_own_policy(site.repository, make_user("hedy"))
    lea_client.post(address, ruling)
    precedent = Precedent.objects.get()
    assert (precedent.clause_id, precedent.policy_version) == ("P1", "1+2")
    clause = reverse("repository-clause", args=[site.repository.slug, "P1"])
    for page in (precedent.get_absolute_url(), site.get_absolute_url()):
        assert f'href="{clause}?version=2"' in lea_client.get(page).content.decode()
    assert precedent.get_absolute_url() in lea_client.get(clause).content.decode()
    Precedent.objects.update(ended_at=precedent.created_at, ended_because="Replaced.")
    assert "No ruling in force rests on this clause." in lea_client.get(clause).content.decode()


def test_a_site_says_which_policy_gave_its_level_and_which_own_clauses_it_rests_on(
    ada_client: Client, site: FallbackSite
) -> None:
    repository = site.repository
    make_own_policy(repository, make_user("hedy"))
    text = ada_client.get(site.get_absolute_url()).content.decode()
    assert reverse("repository-clause", args=[repository.slug, "P1"]) in text
    assert "is given by the policy" not in text
    scan = site.first_seen_scan
    policy = RepositoryPolicy.objects.earliest("pk")
    given = RepositoryPolicy.objects.create(
        repository=repository,
        number=3,
        house_version="1",
        levels={"FT001": "note"},
        what="x",
        reason="x",
        author=policy.author,
    )
    scan.policy_version = "1+3"
    scan.save(update_fields=["policy_version"])
    text = ada_client.get(site.get_absolute_url()).content.decode()
    assert "is given by the policy of minitorch; the rule’s own is error." in text
    assert given.get_absolute_url() in text


def test_clauses_of_two_repositories_are_not_compared_with_each_other(
    lea_client: Client, repository: Repository
) -> None:
    other = make_repository("othertorch")
    publish(repository, 1, clauses=[with_text("About the solver.")])
    publish(other, 1, clauses=[with_text("About the parser.")])
    names = {"from": "minitorch:1+1", "to": "othertorch:1+1"}
    text = lea_client.get(reverse("policy-compare"), names).content.decode()
    assert "1 clause added, 1 removed, 0 changed" in text
    assert f'href="{reverse("repository-clause", args=["othertorch", "P1"])}?version=1"' in text
    assert f'href="{reverse("repository-clause", args=["minitorch", "P1"])}?version=1"' in text


def test_editions_that_cannot_be_chosen_are_counted_and_the_chosen_one_is_listed(
    lea_client: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_pages, "CHOICES_SHOWN", 3)
    for number in range(1, 4):
        publish(repository, number)
    publish(make_repository("othertorch"), 1)
    text = lea_client.get(reverse("policy-compare"), {"from": "minitorch:1+1"}).content.decode()
    assert "1 older version can’t be chosen here" in text
    assert '<option value="minitorch:1+1" selected>' in text
    assert 'value="othertorch:1+1"' in text, "the newest of each repository come first"

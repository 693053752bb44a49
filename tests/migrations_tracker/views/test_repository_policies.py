"""A repository's own policy on its pages: who may publish, what is shown, and how editions compare."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Precedent, Repository, RepositoryPolicy
from audit.rules import RULES
from audit.scanner.levels import levels_by_rule
from audit.scanner.profile import load_profile
from audit.scanner.report import Level
from migrations_tracker.roles import Role
from migrations_tracker.selectors import policy_pages
from migrations_tracker.selectors.policy_conflicts import Meanwhile, published_since
from migrations_tracker.selectors.policy_pages import OwnClausePage, clause_of_repository
from migrations_tracker.templatetags.pages import clause_links
from tests.factories import make_member, make_own_policy, make_repository, make_user

WHY = "Agreed in the meeting."
CLAUSE = {
    "kind": "forbidden",
    "title": "No host body in the solver",
    "text": "The solver crate has no host body.",
    "reason": "No host memory is left.",
    "pytorch": "None on CUDA either.",
    "rules": ["FT001", "FT005"],
    "form_keys": "early-return",
    "why": WHY,
    "based_on": "0",
}


@pytest.fixture
def lead(db: None) -> Client:
    client = Client()
    client.force_login(make_user("grace", role=Role.LEAD))
    return client


def page_of(repository: Repository) -> str:
    return reverse("repository-policy", args=[repository.slug])


def test_without_anything_published_the_house_policy_holds(
    ada_client: Client, repository: Repository
) -> None:
    text = ada_client.get(page_of(repository)).content.decode()
    assert "Version 1:" in text
    assert "It has none: the house’s clauses are all that holds here." in text
    assert "<select" not in text, "who may not publish is offered no form"
    assert text.count('<span class="muted">the same</span>') == len(RULES)


def test_a_lead_publishes_levels_and_sees_how_the_command_line_says_them(
    lead: Client, repository: Repository
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    levels = {rule.id: rule.level.value for rule in RULES} | {"FT014": "none"}
    response = lead.post(address, {**levels, "why": WHY, "based_on": "0"}, follow=True)
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
    lead: Client, repository: Repository, changes: dict[str, str], message: str
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    response = lead.post(address, {"FT014": "none", "why": WHY, "based_on": "0", **changes})
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


def test_a_lead_adds_changes_and_drops_a_clause(lead: Client, repository: Repository) -> None:
    added = lead.post(reverse("repository-clause-add", args=[repository.slug]), CLAUSE, follow=True)
    assert "Published as version 1+1." in added.content.decode()
    detail = reverse("repository-clause", args=[repository.slug, "P1"])
    text = lead.get(detail).content.decode()
    assert "The solver crate has no host body." in text
    for address in (
        reverse("rule-detail", args=["FT005"]),
        reverse("form-detail", args=["early-return"]),
    ):
        assert address in text
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert 'value="FT005"' in lead.get(edit).content.decode()
    changed = {**CLAUSE, "text": "The solver crate has no ungated host body.", "based_on": "1"}
    assert lead.post(edit, changed).status_code == 302
    dropped = lead.post(edit, {"do": "drop", "why": "The crate is gone.", "based_on": "2"}, follow=True)
    assert "Published as version 1+3." in dropped.content.decode()
    text = lead.get(detail).content.decode()
    assert "The clause is not in force any more." in text
    assert "no ungated host body" in text
    assert lead.get(edit).status_code == 404


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
    lead: Client, repository: Repository, changes: dict[str, object], message: str
) -> None:
    address = reverse("repository-clause-add", args=[repository.slug])
    response = lead.post(address, {**CLAUSE, **changes})
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not RepositoryPolicy.objects.exists()


def test_dropping_without_a_reason_is_refused(lead: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    response = lead.post(edit, {"do": "drop", "why": "", "based_on": "2"})
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


def test_editions_are_compared_word_by_word(lead: Client, repository: Repository) -> None:
    make_own_policy(repository, make_user("hedy"))
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert lead.post(edit, {**CLAUSE, "based_on": "2"}).status_code == 302
    compare = reverse("policy-compare")
    text = lead.get(
        compare, {"from": f"{repository.slug}:1+2", "to": f"{repository.slug}:1+3"}
    ).content.decode()
    assert "0 clauses added, 0 removed, 1 changed, 0 levels changed" in text
    assert "<del>, gated or not</del>" in text
    assert "<ins>, FT005</ins>" in text
    text = lead.get(compare, {"from": "1", "to": f"{repository.slug}:1+2"}).content.decode()
    assert "1 clause added, 0 removed, 0 changed, 1 level changed" in text
    text = lead.get(compare, {"from": "1", "to": "1"}).content.decode()
    assert "No clause and no level differs." in text
    assert lead.get(compare).status_code == 200


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


def test_a_ruling_may_rest_on_a_clause_of_the_repository(lead: Client, site: FallbackSite) -> None:
    ruling = {"ruling": "category:B", "reason": "The solver is next.", "clause": "p1"}
    address = reverse("site-ruling", args=[site.pk])
    lead.post(address, ruling)
    assert not Precedent.objects.exists(), "the repository has no clause of its own yet"
    make_own_policy(site.repository, make_user("hedy"))
    lead.post(address, ruling)
    precedent = Precedent.objects.get()
    assert (precedent.clause_id, precedent.policy_version) == ("P1", "1+2")
    clause = reverse("repository-clause", args=[site.repository.slug, "P1"])
    for page in (precedent.get_absolute_url(), site.get_absolute_url()):
        assert f'href="{clause}?version=2"' in lead.get(page).content.decode()
    assert precedent.get_absolute_url() in lead.get(clause).content.decode()
    Precedent.objects.update(ended_at=precedent.created_at, ended_because="Replaced.")
    assert "No ruling in force rests on this clause." in lead.get(clause).content.decode()


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


def publish(repository: Repository, number: int, **what: object) -> RepositoryPolicy:
    """Publish a version as another person does, whole."""
    author = User.objects.get_or_create(username="hedy")[0]
    return RepositoryPolicy.objects.create(
        repository=repository,
        number=number,
        house_version="1",
        what=f"What {number} changed",
        reason=f"Reason of {number}.",
        author=author,
        **what,
    )


def with_text(text: str, **changes: object) -> dict[str, object]:
    """Return clause P1 as it is stored, with a text of its own."""
    kept = {key: CLAUSE[key] for key in ("kind", "title", "reason", "pytorch", "rules")}
    return {"id": "P1", **kept, "text": text, "forms": [], **changes}


def test_a_result_keeps_the_clauses_of_the_version_it_was_judged_under(
    ada_client: Client, site: FallbackSite
) -> None:
    repository = site.repository
    publish(repository, 1, clauses=[with_text("First wording.", title="Wording one")])
    publish(repository, 2, clauses=[with_text("Second wording.", title="Wording two")])
    publish(repository, 3, clauses=[with_text("Second wording.", title="Wording two")])
    scan = site.first_seen_scan
    clause = reverse("repository-clause", args=[repository.slug, "P1"])

    def shown(version: str) -> str:
        scan.policy_version = version
        scan.save(update_fields=["policy_version"])
        return ada_client.get(site.get_absolute_url()).content.decode()

    text = shown("1+1")
    assert f'<a href="{clause}?version=1"><b>P1</b> Wording one</a>' in text
    assert "Today’s of minitorch’s own, in version 1+3:" in text
    assert f'<a href="{clause}?version=3"><b>P1</b> Wording two</a>' in text
    text = shown("1+2")
    assert f'<a href="{clause}?version=2"><b>P1</b> Wording two</a>' in text
    assert "Today’s of" not in text, "the clause says the same today"
    text = shown("1")
    assert "And of minitorch’s own" not in text, "none held when it was judged"
    assert f'<a href="{clause}?version=3"><b>P1</b> Wording two</a>' in text
    publish(repository, 4)
    text = shown("1+3")
    assert f'<a href="{clause}?version=3"><b>P1</b> Wording two</a>' in text
    assert "Today’s version, 1+4, has none for it." in text
    assert shown("nonsense").count("Wording two") == 0


def test_a_clause_is_shown_as_it_stood_in_the_version_that_the_address_names(
    ada_client: Client, repository: Repository
) -> None:
    publish(repository, 1)
    publish(repository, 2, clauses=[with_text("First wording.")])
    publish(repository, 3, clauses=[with_text("Second wording.", title="Another title")])
    clause = reverse("repository-clause", args=[repository.slug, "P1"])
    text = ada_client.get(clause, {"version": "2"}).content.decode()
    assert "First wording." in text
    assert "Today’s, in version 1+3:" in text
    assert f'<a href="{clause}">Another title</a>' in text
    compare = f"{reverse('policy-compare')}?from=minitorch%3A1%2B2&amp;to=minitorch%3A1%2B3"
    assert compare in text
    text = ada_client.get(clause, {"version": "3"}).content.decode()
    assert "Second wording." in text
    assert "Today’s" not in text
    assert "This is how" not in text
    publish(repository, 4, clauses=[with_text("Second wording.", title="Another title")])
    assert "in version 1+4, says the same" in ada_client.get(clause, {"version": "3"}).content.decode()
    publish(repository, 5)
    assert "Second wording." in ada_client.get(clause).content.decode()
    text = ada_client.get(clause, {"version": "2"}).content.decode()
    assert "First wording." in text
    assert "not in force any more" in text
    for version in ("0", "1", "5", "6", "x", "-1", "9" * 30, "\0"):
        assert ada_client.get(clause, {"version": version}).status_code == 404, version


def test_an_old_version_of_the_policy_leads_to_its_clauses_as_they_stood(
    ada_client: Client, repository: Repository
) -> None:
    publish(repository, 1, clauses=[with_text("First wording.")])
    publish(repository, 2, clauses=[with_text("Second wording.")])
    clause = reverse("repository-clause", args=[repository.slug, "P1"])
    old = ada_client.get(page_of(repository), {"version": "1"}).content.decode()
    assert f'href="{clause}?version=1"' in old
    assert f'href="{clause}"' not in old
    assert f'href="{clause}"' in ada_client.get(page_of(repository)).content.decode()
    compare = {"from": "1", "to": f"{repository.slug}:1+1"}
    text = ada_client.get(reverse("policy-compare"), compare).content.decode()
    assert f'href="{clause}?version=1"' in text


def levels_with(**levels: str) -> dict[str, str]:
    return {**{rule.id: rule.level.value for rule in RULES}, **levels, "why": WHY}


def chosen(text: str) -> dict[str, str]:
    """Return what the form of levels would send if it were sent as it is."""
    selects = re.findall(r'<select form="levels-form" name="(\w+)".*?</select>', text)
    picked = re.findall(r'<option value="(\w+)" selected>', text)
    based_on = re.findall(r'name="based_on" value="(\d+)"', text)
    return {**dict(zip(selects, picked, strict=True)), "why": WHY, "based_on": based_on[0]}


def test_a_second_click_does_not_take_back_what_somebody_else_published(
    lead: Client, repository: Repository
) -> None:
    publish(repository, 1, levels={"FT012": "error"})
    address = reverse("repository-policy-levels", args=[repository.slug])
    mine = levels_with(FT012="error", FT001="note", FT014="error", based_on="1")
    publish(repository, 2, levels={"FT012": "error", "FT018": "none", "FT014": "none"})
    response = lead.post(address, mine)
    text = response.content.decode()
    assert response.status_code == 422
    assert "What 2 changed" in text
    assert text.count("changed meanwhile") == 2
    assert "you had chosen error, published is none." in text
    again = lead.post(address, chosen(text))
    assert again.status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.number == 3
    assert newest.levels == {"FT001": "note", "FT012": "error", "FT014": "none", "FT018": "none"}


def test_what_was_published_before_another_mistake_was_mended_is_not_taken_back(
    lead: Client, repository: Repository
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    publish(repository, 1, levels={"FT018": "none"})
    text = lead.post(address, {**levels_with(FT001="note", based_on="0"), "why": ""}).content.decode()
    assert "Say why" in text
    assert "What 1 changed" in text
    assert lead.post(address, chosen(text)).status_code == 302
    assert RepositoryPolicy.objects.latest("number").levels == {"FT001": "note", "FT018": "none"}


def typed_again(text: str) -> dict[str, object]:
    """Return what the form of a clause would send if it were sent as it is."""
    values: dict[str, object] = {
        name: html.unescape(value)
        for name, value in re.findall(r'<input type="(?:text|hidden)" name="(\w+)" value="([^"]*)"', text)
    }
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', text, re.DOTALL)
    values |= {name: html.unescape(value) for name, value in areas}
    values["kind"] = re.findall(r'<option value="(\w+)" selected>', text)[0]
    values["rules"] = re.findall(r'name="rules" value="(FT\d+)"[^>]* checked', text)
    return values


def test_a_clause_keeps_what_somebody_else_changed_in_it(lead: Client, repository: Repository) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    mine = {**CLAUSE, "text": "Mine.", "title": "My title", "form_keys": "", "based_on": "1"}
    publish(repository, 2, clauses=[with_text("Theirs.", reason="Their reason.")], levels={"FT001": "note"})
    response = lead.post(edit, mine)
    text = response.content.decode()
    assert response.status_code == 422
    assert "What 2 changed" in text
    assert "You had typed: Mine." in text
    assert "You had left it as it was." in text
    assert lead.post(edit, typed_again(text)).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    (clause,) = newest.clauses
    assert (clause["title"], clause["text"], clause["reason"]) == ("My title", "Theirs.", "Their reason.")
    assert clause["rules"] == ["FT001", "FT005"]
    assert newest.levels == {"FT001": "note"}


def test_a_new_clause_goes_beside_what_somebody_else_published(lead: Client, repository: Repository) -> None:
    add = reverse("repository-clause-add", args=[repository.slug])
    publish(repository, 1, clauses=[with_text("Theirs.")])
    text = lead.post(add, CLAUSE).content.decode()
    assert "What 1 changed" in text
    assert lead.post(add, typed_again(text)).status_code == 302
    assert [one["id"] for one in RepositoryPolicy.objects.latest("number").clauses] == ["P1", "P2"]


def test_a_clause_that_was_taken_out_meanwhile_is_kept_as_a_new_one(
    lead: Client, repository: Repository
) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    publish(repository, 2)
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    text = lead.post(edit, {**CLAUSE, "text": "Mine.", "based_on": "1"}).content.decode()
    assert "P1 was taken out of the policy meanwhile." in text
    add = reverse("repository-clause-add", args=[repository.slug])
    assert f'action="{add}"' in text
    assert lead.post(add, typed_again(text)).status_code == 302
    (clause,) = RepositoryPolicy.objects.latest("number").clauses
    assert (clause["id"], clause["text"]) == ("P2", "Mine.")


def test_a_clause_that_somebody_changed_is_not_taken_out_unseen(lead: Client, repository: Repository) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    publish(repository, 2, clauses=[with_text("Theirs.")])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    mine = {**CLAUSE, "text": "First.", "form_keys": "", "do": "drop", "based_on": "1"}
    text = lead.post(edit, mine).content.decode()
    assert "What 2 changed" in text
    assert RepositoryPolicy.objects.count() == 2
    assert lead.post(edit, {**typed_again(text), "do": "drop"}).status_code == 302
    assert RepositoryPolicy.objects.latest("number").clauses == []


def test_clauses_of_two_repositories_are_not_compared_with_each_other(
    lead: Client, repository: Repository
) -> None:
    other = make_repository("othertorch")
    publish(repository, 1, clauses=[with_text("About the solver.")])
    publish(other, 1, clauses=[with_text("About the parser.")])
    names = {"from": "minitorch:1+1", "to": "othertorch:1+1"}
    text = lead.get(reverse("policy-compare"), names).content.decode()
    assert "1 clause added, 1 removed, 0 changed" in text
    assert f'href="{reverse("repository-clause", args=["othertorch", "P1"])}?version=1"' in text
    assert f'href="{reverse("repository-clause", args=["minitorch", "P1"])}?version=1"' in text


def test_editions_that_cannot_be_chosen_are_counted_and_the_chosen_one_is_listed(
    lead: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_pages, "CHOICES_SHOWN", 3)
    for number in range(1, 4):
        publish(repository, number)
    publish(make_repository("othertorch"), 1)
    text = lead.get(reverse("policy-compare"), {"from": "minitorch:1+1"}).content.decode()
    assert "1 older version can’t be chosen here" in text
    assert '<option value="minitorch:1+1" selected>' in text
    assert 'value="othertorch:1+1"' in text, "the newest of each repository come first"


def test_a_level_of_a_retired_rule_is_dropped_and_not_given_to_the_command_line(
    lead: Client, repository: Repository
) -> None:
    publish(repository, 1, levels={"FT099": "none", "FT014": "none"})
    profile = lead.get(reverse("repository-policy-profile", args=[repository.slug])).content.decode()
    assert "FT099" not in profile
    assert "--level FT099" not in lead.get(page_of(repository)).content.decode()
    address = reverse("repository-policy-levels", args=[repository.slug])
    assert lead.post(address, levels_with(FT014="none", FT001="note", based_on="1")).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.levels == {"FT001": "note", "FT014": "none"}
    assert newest.what == "Levels: FT001 note, FT099 dropped, a retired rule"


def test_a_form_that_is_older_than_a_rule_leaves_its_level(lead: Client, repository: Repository) -> None:
    publish(repository, 1, levels={"FT012": "error", "FT014": "none"})
    older = levels_with(FT001="note", FT012="error", based_on="1")
    del older["FT014"]
    address = reverse("repository-policy-levels", args=[repository.slug])
    again = lead.post(address, {**older, "why": ""}).content.decode()
    assert chosen(again)["FT014"] == "none"
    assert lead.post(address, older).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.levels == {"FT001": "note", "FT012": "error", "FT014": "none"}
    assert newest.what == "Levels: FT001 note"


def test_levels_go_on_from_the_version_they_were_read_with(
    lead: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, 1, levels={"FT012": "error"})

    def read_and_overtaken(**given: Any) -> Meanwhile:
        found = published_since(**given)
        publish(repository, 2, levels={"FT012": "none"})
        return found

    monkeypatch.setattr("migrations_tracker.views.repository_policies.published_since", read_and_overtaken)
    address = reverse("repository-policy-levels", args=[repository.slug])
    text = lead.post(address, {**levels_with(FT012="error", based_on="1"), "why": ""}).content.decode()
    assert chosen(text)["based_on"] == "1"
    monkeypatch.undo()
    assert lead.post(address, chosen(text)).status_code == 422
    assert RepositoryPolicy.objects.latest("number").levels == {"FT012": "none"}


def test_a_clause_goes_on_from_the_version_it_was_read_from(
    lead: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, 1, clauses=[with_text("First.")])

    def read_and_overtaken(**given: Any) -> OwnClausePage | None:
        found = clause_of_repository(**given)
        publish(repository, 2, clauses=[with_text("Second.")])
        return found

    monkeypatch.setattr("migrations_tracker.views.own_clauses.clause_of_repository", read_and_overtaken)
    text = lead.get(reverse("repository-clause-edit", args=[repository.slug, "P1"])).content.decode()
    assert "First." in text
    assert re.findall(r'name="based_on" value="(\d+)"', text) == ["1"]


def test_a_clause_that_loses_a_retired_rule_says_so(lead: Client, repository: Repository) -> None:
    publish(repository, 1, clauses=[with_text("First.", rules=["FT001", "FT099"])])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert "It rests on FT099, too" in lead.get(edit).content.decode()
    assert lead.post(edit, {**CLAUSE, "text": "Second.", "based_on": "1"}).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.clauses[0]["rules"] == ["FT001", "FT005"]
    assert newest.what.endswith("; rests no more on FT099, retired")


@pytest.fixture
def links_written_anew() -> Iterator[None]:
    """Forget the links that a process keeps, for which the version that ships never changes."""
    clause_links.cache_clear()
    yield
    clause_links.cache_clear()


def test_links_to_the_house_s_clauses_lead_to_the_version_a_result_was_judged_under(
    ada_client: Client, site: FallbackSite, monkeypatch: pytest.MonkeyPatch, links_written_anew: None
) -> None:
    link = re.compile(r'href="(/policy/[A-Z]\d+/[^"]*)"')
    today = link.findall(ada_client.get(site.get_absolute_url()).content.decode())
    assert today
    assert not [address for address in today if "version" in address]
    monkeypatch.setattr("audit.models.precedent.CURRENT_VERSION", "2")
    clause_links.cache_clear()
    later = link.findall(ada_client.get(site.get_absolute_url()).content.decode())
    assert later == [f"{address}?version=1" for address in today]

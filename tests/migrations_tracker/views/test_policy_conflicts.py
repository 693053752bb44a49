"""What somebody else published while a policy's form was open, and what forms send again."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Repository, RepositoryPolicy
from migrations_tracker.selectors.policy_conflicts import Meanwhile, published_since
from migrations_tracker.selectors.policy_pages import OwnClausePage, clause_of_repository
from tests.migrations_tracker.views.own_policies import CLAUSE, WHY, levels_with, page_of, publish, with_text


def chosen(text: str) -> dict[str, str]:
    """Return what the form of levels would send if it were sent as it is."""
    selects = re.findall(r'<select form="levels-form" name="(\w+)".*?</select>', text)
    picked = re.findall(r'<option value="(\w+)" selected>', text)
    based_on = re.findall(r'name="based_on" value="(\d+)"', text)
    return {**dict(zip(selects, picked, strict=True)), "why": WHY, "based_on": based_on[0]}


def test_a_second_click_does_not_take_back_what_somebody_else_published(
    lea_client: Client, repository: Repository
) -> None:
    publish(repository, 1, levels={"FT012": "error"})
    address = reverse("repository-policy-levels", args=[repository.slug])
    mine = levels_with(FT012="error", FT001="note", FT014="error", based_on="1")
    publish(repository, 2, levels={"FT012": "error", "FT018": "none", "FT014": "none"})
    response = lea_client.post(address, mine)
    text = response.content.decode()
    assert response.status_code == 422
    assert "What 2 changed" in text
    assert text.count("changed meanwhile") == 2
    assert "you had chosen error, published is none." in text
    again = lea_client.post(address, chosen(text))
    assert again.status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.number == 3
    assert newest.levels == {"FT001": "note", "FT012": "error", "FT014": "none", "FT018": "none"}


def test_what_was_published_before_another_mistake_was_mended_is_not_taken_back(
    lea_client: Client, repository: Repository
) -> None:
    address = reverse("repository-policy-levels", args=[repository.slug])
    publish(repository, 1, levels={"FT018": "none"})
    text = lea_client.post(address, {**levels_with(FT001="note", based_on="0"), "why": ""}).content.decode()
    assert "Say why" in text
    assert "What 1 changed" in text
    assert lea_client.post(address, chosen(text)).status_code == 302
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


def test_a_clause_keeps_what_somebody_else_changed_in_it(lea_client: Client, repository: Repository) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    mine = {**CLAUSE, "text": "Mine.", "title": "My title", "form_keys": "", "based_on": "1"}
    publish(repository, 2, clauses=[with_text("Theirs.", reason="Their reason.")], levels={"FT001": "note"})
    response = lea_client.post(edit, mine)
    text = response.content.decode()
    assert response.status_code == 422
    assert "What 2 changed" in text
    assert "You had typed: Mine." in text
    assert "You had left it as it was." in text
    assert lea_client.post(edit, typed_again(text)).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    (clause,) = newest.clauses
    assert (clause["title"], clause["text"], clause["reason"]) == ("My title", "Theirs.", "Their reason.")
    assert clause["rules"] == ["FT001", "FT005"]
    assert newest.levels == {"FT001": "note"}


def test_a_new_clause_goes_beside_what_somebody_else_published(
    lea_client: Client, repository: Repository
) -> None:
    add = reverse("repository-clause-add", args=[repository.slug])
    publish(repository, 1, clauses=[with_text("Theirs.")])
    text = lea_client.post(add, CLAUSE).content.decode()
    assert "What 1 changed" in text
    assert lea_client.post(add, typed_again(text)).status_code == 302
    assert [one["id"] for one in RepositoryPolicy.objects.latest("number").clauses] == ["P1", "P2"]


def test_a_clause_that_was_taken_out_meanwhile_is_kept_as_a_new_one(
    lea_client: Client, repository: Repository
) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    publish(repository, 2)
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    text = lea_client.post(edit, {**CLAUSE, "text": "Mine.", "based_on": "1"}).content.decode()
    assert "P1 was taken out of the policy meanwhile." in text
    add = reverse("repository-clause-add", args=[repository.slug])
    assert f'action="{add}"' in text
    assert lea_client.post(add, typed_again(text)).status_code == 302
    (clause,) = RepositoryPolicy.objects.latest("number").clauses
    assert (clause["id"], clause["text"]) == ("P2", "Mine.")


def test_a_clause_that_somebody_changed_is_not_taken_out_unseen(
    lea_client: Client, repository: Repository
) -> None:
    publish(repository, 1, clauses=[with_text("First.")])
    publish(repository, 2, clauses=[with_text("Theirs.")])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    mine = {**CLAUSE, "text": "First.", "form_keys": "", "do": "drop", "based_on": "1"}
    text = lea_client.post(edit, mine).content.decode()
    assert "What 2 changed" in text
    assert RepositoryPolicy.objects.count() == 2
    assert lea_client.post(edit, {**typed_again(text), "do": "drop"}).status_code == 302
    assert RepositoryPolicy.objects.latest("number").clauses == []


def test_a_level_of_a_retired_rule_is_dropped_and_not_given_to_the_command_line(
    lea_client: Client, repository: Repository
) -> None:
    publish(repository, 1, levels={"FT099": "none", "FT014": "none"})
    profile = lea_client.get(reverse("repository-policy-profile", args=[repository.slug])).content.decode()
    assert "FT099" not in profile
    assert "--level FT099" not in lea_client.get(page_of(repository)).content.decode()
    address = reverse("repository-policy-levels", args=[repository.slug])
    assert lea_client.post(address, levels_with(FT014="none", FT001="note", based_on="1")).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.levels == {"FT001": "note", "FT014": "none"}
    assert newest.what == "Levels: FT001 note, FT099 dropped, a retired rule"


def test_a_form_that_is_older_than_a_rule_leaves_its_level(
    lea_client: Client, repository: Repository
) -> None:
    publish(repository, 1, levels={"FT012": "error", "FT014": "none"})
    older = levels_with(FT001="note", FT012="error", based_on="1")
    del older["FT014"]
    address = reverse("repository-policy-levels", args=[repository.slug])
    again = lea_client.post(address, {**older, "why": ""}).content.decode()
    assert chosen(again)["FT014"] == "none"
    assert lea_client.post(address, older).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.levels == {"FT001": "note", "FT012": "error", "FT014": "none"}
    assert newest.what == "Levels: FT001 note"


def test_levels_go_on_from_the_version_they_were_read_with(
    lea_client: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, 1, levels={"FT012": "error"})

    def read_and_overtaken(**given: Any) -> Meanwhile:
        found = published_since(**given)
        publish(repository, 2, levels={"FT012": "none"})
        return found

    monkeypatch.setattr("migrations_tracker.views.repository_policies.published_since", read_and_overtaken)
    address = reverse("repository-policy-levels", args=[repository.slug])
    text = lea_client.post(address, {**levels_with(FT012="error", based_on="1"), "why": ""}).content.decode()
    assert chosen(text)["based_on"] == "1"
    monkeypatch.undo()
    assert lea_client.post(address, chosen(text)).status_code == 422
    assert RepositoryPolicy.objects.latest("number").levels == {"FT012": "none"}


def test_a_clause_goes_on_from_the_version_it_was_read_from(
    lea_client: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, 1, clauses=[with_text("First.")])

    def read_and_overtaken(**given: Any) -> OwnClausePage | None:
        found = clause_of_repository(**given)
        publish(repository, 2, clauses=[with_text("Second.")])
        return found

    monkeypatch.setattr("migrations_tracker.views.own_clauses.clause_of_repository", read_and_overtaken)
    text = lea_client.get(reverse("repository-clause-edit", args=[repository.slug, "P1"])).content.decode()
    assert "First." in text
    assert re.findall(r'name="based_on" value="(\d+)"', text) == ["1"]


def test_a_clause_that_loses_a_retired_rule_says_so(lea_client: Client, repository: Repository) -> None:
    publish(repository, 1, clauses=[with_text("First.", rules=["FT001", "FT099"])])
    edit = reverse("repository-clause-edit", args=[repository.slug, "P1"])
    assert "It rests on FT099, too" in lea_client.get(edit).content.decode()
    assert lea_client.post(edit, {**CLAUSE, "text": "Second.", "based_on": "1"}).status_code == 302
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.clauses[0]["rules"] == ["FT001", "FT005"]
    assert newest.what.endswith("; rests no more on FT099, retired")

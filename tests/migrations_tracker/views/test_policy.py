"""The policy's pages: every clause, and what rests on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from audit.models import FallbackSite, PrecedentKind
from audit.models.precedent import clause_address
from audit.policy.clauses import Clause, load_policy
from audit.policy.links import RULE_CLAUSES
from audit.rules import RULES
from audit.selectors import policy
from audit.services.precedents import precedent_record
from tests.factories import make_user


def test_the_list_names_every_clause_and_counts_its_open_sites(
    ada_client: Client, site: FallbackSite
) -> None:
    text = ada_client.get(reverse("policy")).content.decode()
    for clause in load_policy().clauses:
        assert reverse("clause-detail", args=[clause.id]) in text
        assert escape(clause.title) in text
    assert text.count('<td class="number">1</td>') == len(RULE_CLAUSES[site.rule_id])


@pytest.mark.parametrize("clause", load_policy().clauses, ids=lambda clause: clause.id)
def test_each_clause_has_a_page_with_both_shapes(ada_client: Client, clause: Clause) -> None:
    text = ada_client.get(reverse("clause-detail", args=[clause.id])).content.decode()
    assert escape(clause.title) in text
    assert text.count('class="example valid"') == bool(clause.right)
    assert text.count('class="example invalid"') == bool(clause.wrong)
    for rule in RULES:
        rests = clause.id in RULE_CLAUSES[rule.id]
        assert (reverse("rule-detail", args=[rule.id]) in text) == rests, rule.id


def test_a_clause_lists_the_outcomes_and_verdicts_that_rest_on_it(ada_client: Client, db: None) -> None:
    text = ada_client.get(reverse("clause-detail", args=["A4"])).content.decode()
    assert '<span class="badge">opt-in-fallback</span>' in text
    assert '<span class="badge">opt-in-proved</span>' in text


def test_a_rule_and_its_sites_link_to_the_clauses_they_rest_on(
    ada_client: Client, site: FallbackSite
) -> None:
    for address in (reverse("rule-detail", args=[site.rule_id]), site.get_absolute_url()):
        text = ada_client.get(address).content.decode()
        for clause_id in RULE_CLAUSES[site.rule_id]:
            assert reverse("clause-detail", args=[clause_id]) in text


@pytest.mark.parametrize(
    ("clause_id", "shown"),
    [
        ("S3", ["Decision", "forward-before-backward"]),
        ("W1", ["Implemented … on GPU; returns Err(..) when GPU not available."]),
        ("A1", ["structured-error", "Until then the code returns a structured error;"]),
        ("M5", ["workspace-dependency", "computed and warned with it"]),
        ("F1", ["Kernel attempt, host body when it fails", "kernel-or-fallback"]),
        ("A8", ["No sentence of a report, rationale or work unit rests on this clause."]),
    ],
)
def test_a_clause_lists_the_forms_states_units_and_sentences_that_rest_on_it(
    ada_client: Client, clause_id: str, shown: list[str]
) -> None:
    text = ada_client.get(reverse("clause-detail", args=[clause_id])).content.decode()
    for words in shown:
        assert escape(words) in text


def test_a_clause_lists_the_rulings_that_rest_on_it(ada_client: Client, site: FallbackSite) -> None:
    address = reverse("clause-detail", args=["M2"])
    assert "No ruling in force rests on this clause." in ada_client.get(address).content.decode()
    ruling = precedent_record(
        site=site,
        actor=make_user("ruth"),
        kind=PrecedentKind.ACCEPTED,
        reason="A transfer by its name.",
        clause_id="M2",
    )
    assert ruling.get_absolute_url() in ada_client.get(address).content.decode()
    assert (
        ruling.get_absolute_url()
        not in ada_client.get(reverse("clause-detail", args=["M3"])).content.decode()
    )


def test_a_clause_that_does_not_exist_is_not_found(ada_client: Client) -> None:
    assert ada_client.get(reverse("clause-detail", args=["X9"])).status_code == 404


def test_a_clause_of_the_house_is_shown_as_it_stood_in_a_version(
    ada_client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("clause-detail", args=["M2"])
    assert ada_client.get(address, {"version": "1"}).status_code == 200
    for version in ("2", "x", "1+1"):
        assert ada_client.get(address, {"version": version}).status_code == 404
    older = replace(load_policy(), clauses=(replace(load_policy().clause("M2"), title="As it was"),))
    monkeypatch.setattr(policy, "VERSIONS", ("0", "1"))
    monkeypatch.setattr(policy, "load_policy", lambda version: older)
    text = ada_client.get(address, {"version": "0"}).content.decode()
    assert "<h1>As it was</h1>" in text
    assert f'<a href="{address}">Today’s</a>, in version 1:' in text
    assert clause_address("M2", slug="x", version="1+4") == address
    assert clause_address("M2", slug="x", version="2+4") == f"{address}?version=2"

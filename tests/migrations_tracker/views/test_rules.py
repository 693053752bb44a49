"""The rules' pages are made from their modules."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from audit.models import FallbackSite, PrecedentKind, Repository
from audit.policy.forms import forms_of_rule
from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.report import Level
from audit.selectors.history import Dimension, counts_over_time
from audit.services.precedents import precedent_record
from migrations_tracker.selectors.field_facts import field_facts
from migrations_tracker.templatetags.pages import inline_code
from tests.factories import ingest, make_report, make_repository, make_result, make_user


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_rule_has_a_page_with_its_examples(ada_client: Client, rule: Rule) -> None:
    by_id = ada_client.get(reverse("rule-detail", args=[rule.id]))
    by_name = ada_client.get(reverse("rule-detail", args=[rule.name]))
    text = by_id.content.decode()
    assert by_name.status_code == 200
    assert ">What it does</h2>" in text
    assert text.count('class="example invalid"') == len(rule.invalid)
    assert text.count('class="example valid"') == len(rule.valid)
    flagged = sum(len(example.flagged_lines) for example in rule.invalid)
    assert text.count('<tr class="flagged">') == flagged


def test_the_list_counts_open_sites(ada_client: Client, site: FallbackSite) -> None:
    text = ada_client.get(reverse("rule-list")).content.decode()
    assert all(rule.name in text for rule in RULES)
    assert 'aria-label="1 open sites of silent-fallback"' in text


@pytest.fixture
def many(repository: Repository) -> Repository:
    """Three scans: two forms in two crates; one site is gone, one came later."""
    relu, gelu, conv, late = (
        make_result("minitorch_gpu::ops::relu", form="failed-attempt"),
        make_result("minitorch_gpu::ops::gelu", form="failed-attempt", line=40),
        make_result("minitorch_nn::ops::conv", form="default-host-path", line=70),
        make_result("minitorch_nn::ops::late", form="failed-attempt", line=90),
    )
    ingest(repository, make_report([relu, gelu, conv]))
    ingest(repository, make_report([relu, conv], files=[gelu.path]))
    ingest(repository, make_report([relu, conv, late], files=[gelu.path]))
    return repository


def listed(client: Client, address: str) -> int:
    """How many sites the list has at an address."""
    text = client.get(unescape(address)).content.decode()
    found = re.search(r"<b>([\d,]+)</b> site", text)
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("name", ["FT001", "failed-attempt", "default-host-path"])
def test_each_count_is_that_of_the_list_it_leads_to(ada_client: Client, many: Repository, name: str) -> None:
    make_repository("other")
    view = "rule-detail" if name == "FT001" else "form-detail"
    text = ada_client.get(reverse(view, args=[name])).content.decode()
    aside = text[text.index('<aside class="side"') :]
    total = re.findall(r'<a href="([^"]*/sites/\?[^"]*)">([\d,]+)</a>', aside)
    others = re.findall(r'<a href="([^"]*/sites/\?[^"]*)">.*?</a> <span class="muted">([\d,]+)</span>', aside)
    assert len(total) == 1
    assert len(others) >= 1
    for address, count in [*total, *others]:
        assert listed(ada_client, address) == int(count), address
    assert int(total[0][1]) == {"FT001": 3, "failed-attempt": 2, "default-host-path": 1}[name]


def test_sites_of_several_levels_are_one_count_of_their_crate(
    ada_client: Client, repository: Repository
) -> None:
    levels = (Level.ERROR, Level.WARNING, Level.ERROR, Level.NOTE)
    relus = [
        make_result(f"minitorch_gpu::relu{n}", line=10 * n, level=one) for n, one in enumerate(levels, 1)
    ]
    ingest(repository, make_report([*relus, make_result("minitorch_nn::conv")]))
    facts = field_facts(repositories=Repository.objects.all(), rule_id="FT001")
    assert [(one.name, one.count) for one in facts.branches[0].crates] == [
        ("minitorch-gpu", 4),
        ("minitorch-nn", 1),
    ]
    assert facts.open_by_form == {"match-arm": 5}


def test_what_ships_of_a_rule_is_shown_to_the_next_person_as_to_the_first(
    ada_client: Client, lea_client: Client
) -> None:
    caches["process"].clear()
    shipped = [
        re.findall(r"<figure.*?</figure>", client.get(f"/rules/{rule_id}/").content.decode(), re.DOTALL)
        for client, rule_id in ((ada_client, "FT001"), (lea_client, "FT001"), (ada_client, "FT010"))
    ]
    assert shipped[0] == shipped[1] != shipped[2]
    assert all("flagged" in figures[0] for figures in shipped)


def test_each_form_of_a_rule_has_as_many_as_the_list_has_of_it(ada_client: Client, many: Repository) -> None:
    text = ada_client.get(reverse("rule-detail", args=["FT001"])).content.decode()
    rows = re.findall(r"<code>([\w-]+)</code></span></td>.*?<td class=\"number\">(\d+)</td>", text, re.DOTALL)
    counts = {form: int(count) for form, count in rows}
    assert list(counts) == [form.key for form in forms_of_rule("FT001")]
    assert counts["failed-attempt"] == 2
    for form, count in counts.items():
        assert listed(ada_client, f"/sites/?rule=FT001&form={form}") == count


@pytest.mark.parametrize(("view", "key"), [("rule-detail", "FT001"), ("form-detail", "failed-attempt")])
def test_no_page_of_a_rule_or_form_takes_more_queries_than_it_may(
    ada_client: Client,
    many: Repository,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    view: str,
    key: str,
) -> None:
    with django_assert_max_num_queries(12):
        ada_client.get(reverse(view, args=[key]))


def test_counts_at_earlier_commits_are_those_that_were_kept(many: Repository) -> None:
    repositories = Repository.objects.all()
    facts = field_facts(repositories=repositories, rule_id="FT001").branches[0]
    kept = counts_over_time(branch=facts.branch, by=Dimension.RULE)
    assert [count for _, count in facts.commits] == kept.totals[::-1] == [3, 2, 3]
    form = field_facts(repositories=repositories, form="failed-attempt").branches[0]
    assert [count for _, count in form.commits] == [2, 1, 2]
    assert [tally.count for tally in form.outcomes] == [1]


def test_the_page_of_a_rule_leads_to_its_forms_and_says_how_each_is_fixed(
    ada_client: Client, many: Repository
) -> None:
    text = ada_client.get(reverse("rule-detail", args=["FT001"])).content.decode()
    for form in forms_of_rule("FT001"):
        assert reverse("form-detail", args=[form.key]) in text
        assert str(inline_code(form.fix)) in text
    assert 'href="/sites/' in text[text.index('id="places-heading"') :]


@pytest.mark.parametrize(("view", "key"), [("rule-detail", "FT001"), ("form-detail", "failed-attempt")])
def test_a_ruling_that_it_is_no_site_counts_against_rule_and_form(
    ada_client: Client, many: Repository, view: str, key: str
) -> None:
    address = reverse(view, args=[key])
    assert "Nobody has judged a site of it yet" in ada_client.get(address).content.decode()
    relu, late = (FallbackSite.objects.get(symbol__endswith=f"::{name}") for name in ("relu", "late"))
    ruth = make_user("ruth")
    precedent_record(site=relu, kind=PrecedentKind.NOT_A_SITE, reason="Shape data.", actor=ruth)
    precedent_record(site=late, kind=PrecedentKind.ACCEPTED, reason="Yes.", actor=ruth)
    text = ada_client.get(address).content.decode()
    assert "<b>50.0 %</b>: of 2 sites that people judged, 1 is none." in text
    assert f"something about 2 of its {4 if key == 'FT001' else 3} sites" in text
    rulings = re.search(r'<a href="(/precedents/\?[^"]*)" aria-label="1 rulings', text)
    assert rulings
    page = ada_client.get(unescape(rulings[1])).content.decode()
    assert page.count('<td class="place">') == 1
    exported = re.search(r'href="(/precedents/minitorch/labels.jsonl[^"]*)">2 labels of minitorch', text)
    assert exported
    body = b"".join(ada_client.get(unescape(exported[1])).streaming_content)  # type: ignore[attr-defined]
    assert [json.loads(line)["verdict"] for line in body.splitlines()] == ["allowed", "violation"]

"""A policy's clauses as they stood in the version that something was judged under."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Repository
from migrations_tracker.templatetags.pages import clause_links
from tests.migrations_tracker.views.own_policies import page_of, publish, with_text


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

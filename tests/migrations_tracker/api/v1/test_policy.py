"""The policy as programs read it: what rests on a clause, and what a repository adds."""

from __future__ import annotations

import pytest

from audit.models import FallbackSite, Repository
from audit.policy.clauses import load_policy
from audit.selectors import repository_policies
from migrations_tracker.selectors import policy_pages
from tests.factories import make_own_policy, make_repository, make_user
from tests.migrations_tracker.api.v1.conftest import Ask


def test_a_clause_says_what_rests_on_it(ask: Ask) -> None:
    found = ask("GET", "clauses/W1").json()
    assert "Implemented … on GPU; returns Err(..) when GPU not available." in found["sentences"]
    found = ask("GET", "clauses/F1").json()
    assert "FT001" in found["rules"]
    assert "failed-attempt" in found["forms"]
    assert "kernel-or-fallback" in found["states"]
    assert "opt-in-proved" in ask("GET", "clauses/A4").json()["verdicts"]


def test_a_repository_without_its_own_policy_is_held_to_the_house(repository: Repository, ask: Ask) -> None:
    found = ask("GET", f"repositories/{repository.slug}/policy").json()
    assert (found["version"], found["levels"], found["clauses"], found["versions"]) == ("1", {}, [], [])
    assert found["is_in_force"]


def test_a_repositorys_policy_is_read_in_force_and_as_it_was(repository: Repository, ask: Ask) -> None:
    make_own_policy(repository, make_user("hedy"))
    address = f"repositories/{repository.slug}/policy"
    found = ask("GET", address).json()
    assert (found["version"], found["levels"]) == ("1+2", {"FT014": "none"})
    assert [(clause["id"], clause["rules"]) for clause in found["clauses"]] == [("P1", ["FT001"])]
    assert [row["number"] for row in found["versions"]] == [2, 1]
    assert found["versions"][0]["author"] == "hedy"
    assert 'FT014 = "none"' in found["profile"]
    first = ask("GET", f"{address}?version=1").json()
    assert (first["version"], first["is_in_force"], first["levels"]) == ("1+1", False, {})
    assert ask("GET", f"{address}?version=3").status_code == 404
    assert ask("GET", f"{address}?version=x").status_code == 422


def test_the_policy_of_a_repository_that_is_not_there_is_not_found(ask: Ask) -> None:
    make_repository("elsewhere")
    assert ask("GET", "repositories/nowhere/policy").status_code == 404


def test_a_site_names_the_clauses_of_the_version_it_was_judged_under(site: FallbackSite, ask: Ask) -> None:
    make_own_policy(site.repository, make_user("hedy"))
    found = ask("GET", f"sites/{site.pk}").json()
    assert (found["own_clauses"], found["policy_version"]) == ([], "")
    scan = site.first_seen_scan
    scan.policy_version = "1+1"
    scan.save(update_fields=["policy_version"])
    found = ask("GET", f"sites/{site.pk}").json()
    assert (found["own_clauses"], found["policy_version"]) == (["P1"], "1+1")


def test_the_version_in_force_goes_with_the_house_s_policy_of_today(
    repository: Repository, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_own_policy(repository, make_user("hedy"))
    for module in (repository_policies, policy_pages):
        monkeypatch.setattr(module, "CURRENT_VERSION", "2")
    monkeypatch.setattr(repository_policies, "load_policy", lambda version: load_policy("1"))
    found = ask("GET", f"repositories/{repository.slug}/policy").json()
    assert found["version"] == "2+2"
    assert [row["version"] for row in found["versions"]] == ["2+2", "1+1"]
    old = ask("GET", f"repositories/{repository.slug}/policy?version=1").json()
    assert old["version"] == "1+1"
    page = policy_pages.policy_page(repository=repository, number=1)
    assert page is not None
    assert page.compare_name == f"{repository.slug}:1+1"
    assert [(one.name, one.before) for one in page.named_versions] == [
        (f"{repository.slug}:2+2", f"{repository.slug}:1+1"),
        (f"{repository.slug}:1+1", "1"),
    ]

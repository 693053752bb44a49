"""The policy as programs read it: what rests on a clause, and what a repository adds."""

from __future__ import annotations

import pytest

from audit.models import FallbackSite, Repository, RepositoryPolicy
from audit.policy.clauses import load_policy
from audit.selectors import repository_policies
from migrations_tracker.roles import Role
from migrations_tracker.selectors import policy_pages
from tests.factories import make_own_policy, make_repository, make_user
from tests.migrations_tracker.api.v1.conftest import Ask, asker


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


CLAUSE = {
    "title": "No host body in the solver",
    "kind": "forbidden",
    "text": "The solver crate has no host body.",
    "reason": "No host memory is left.",
    "pytorch": "None on CUDA either.",
    "rules": ["FT005", "FT001"],
    "forms": ["early-return"],
    "why": "Agreed.",
}


class TestPublishing:
    """Levels and clauses of a repository's own, as the pages publish them."""

    @pytest.fixture
    def lead(self, repository: Repository) -> Ask:
        return asker(make_user("lena", role=Role.LEAD))

    @pytest.fixture
    def address(self, repository: Repository) -> str:
        return f"repositories/{repository.slug}/policy"

    def test_levels_are_a_version_that_names_its_author(self, lead: Ask, address: str) -> None:
        body = {"levels": {"FT014": "none"}, "why": "Kept as prose.", "version": 0}
        answer = lead("PUT", f"{address}/levels", body)
        assert answer.status_code == 200
        found = answer.json()
        assert (found["version"], found["levels"]) == ("1+1", {"FT014": "none"})
        assert (found["versions"][0]["author"], found["versions"][0]["reason"]) == ("lena", "Kept as prose.")
        more = lead("PUT", f"{address}/levels", {"levels": {"FT001": "note"}, "why": "Late.", "version": 1})
        assert more.json()["levels"] == {"FT001": "note", "FT014": "none"}

    def test_a_clause_is_added_changed_and_dropped(self, lead: Ask, address: str) -> None:
        added = lead("POST", f"{address}/clauses", {**CLAUSE, "version": 0})
        assert added.status_code == 201
        (clause,) = added.json()["clauses"]
        assert (clause["id"], clause["rules"], clause["forms"]) == (
            "P1",
            ["FT001", "FT005"],
            ["early-return"],
        )
        changed = lead("PUT", f"{address}/clauses/P1", {**CLAUSE, "text": "None at all.", "version": 1})
        assert changed.json()["clauses"][0]["text"] == "None at all."
        assert lead("PUT", f"{address}/clauses/P2", {**CLAUSE, "version": 2}).status_code == 422
        dropped = lead("POST", f"{address}/clauses/p1/drop", {"why": "The crate is gone.", "version": 2})
        assert (dropped.json()["clauses"], dropped.json()["version"]) == ([], "1+3")

    def test_what_was_published_meanwhile_is_not_overwritten(
        self, lead: Ask, address: str, repository: Repository
    ) -> None:
        make_own_policy(repository, make_user("hedy"))
        asked = (
            ("PUT", f"{address}/levels", {"levels": {"FT001": "note"}, "why": "x", "version": 1}),
            ("POST", f"{address}/clauses", {**CLAUSE, "version": 1}),
            ("PUT", f"{address}/clauses/P1", {**CLAUSE, "version": 1}),
            ("POST", f"{address}/clauses/P1/drop", {"why": "x", "version": 1}),
        )
        assert [lead(*one).status_code for one in asked] == [409] * 4
        assert RepositoryPolicy.objects.count() == 2

    def test_what_does_not_fit_is_refused(self, lead: Ask, address: str) -> None:
        for body in (
            {"levels": {"FT099": "none"}, "why": "x", "version": 0},
            {"levels": {"FT001": "off"}, "why": "x", "version": 0},
            {"levels": {"FT001": "note"}, "why": " ", "version": 0},
            {"levels": {"FT001": "note"}, "why": "x"},
        ):
            assert lead("PUT", f"{address}/levels", body).status_code == 422
        for changes in ({"rules": ["FT099"]}, {"forms": ["x"]}, {"kind": "law"}, {"title": " "}):
            assert lead("POST", f"{address}/clauses", {**CLAUSE, **changes, "version": 0}).status_code == 422
        assert not RepositoryPolicy.objects.exists()

    def test_an_engineer_publishes_nothing(self, ask: Ask, address: str) -> None:
        body = {"levels": {"FT014": "none"}, "why": "x", "version": 0}
        assert ask("PUT", f"{address}/levels", body).status_code == 403
        assert ask("POST", f"{address}/clauses", {**CLAUSE, "version": 0}).status_code == 403
        assert ask("PUT", f"{address}/clauses/P1", {**CLAUSE, "version": 0}).status_code == 403
        assert ask("POST", f"{address}/clauses/P1/drop", {"why": "x", "version": 0}).status_code == 403
        assert not RepositoryPolicy.objects.exists()

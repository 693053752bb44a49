"""A repository's own policy: versions that are never changed, and scans that keep theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from pytest_django import Settings

from audit.errors import AuditError
from audit.models import FallbackSite, Repository, RepositoryPolicy, Result, ScanRun, SiteState
from audit.policy.clauses import own_clauses
from audit.rules import RULES
from audit.scanner.output.sarif import sarif_log
from audit.scanner.report import Level
from audit.selectors.repository_policies import clauses_resting, edition_of, levels_of, version_in_force
from audit.selectors.scan_reports import scan_report
from audit.services import scan_requests
from audit.services.repositories import repository_add
from audit.services.repository_policies import (
    policy_clause_drop,
    policy_clause_publish,
    policy_levels_publish,
)
from audit.services.scan_runs import scan_run_execute
from migrations_tracker.services.follow_up import scan_run_follow_up
from tests.audit.services.test_backfill import run as backfill
from tests.audit.services.test_scan_runs import FALLBACK, MANIFEST
from tests.factories import make_repository, make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

PARTS: dict[str, Any] = {
    "kind": "forbidden",
    "title": "No host body in the solver",
    "text": "The solver crate has no host body, gated or not.",
    "reason": "It runs where no host memory is left.",
    "pytorch": "torch.linalg has none on CUDA either.",
    "rules": ["FT001"],
    "forms": ["early-return"],
}


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def repository() -> Repository:
    return make_repository()


def set_levels(repository: Repository, ada: User, *, based_on: int, **levels: str) -> RepositoryPolicy:
    return policy_levels_publish(
        repository=repository, levels=levels, reason="Agreed.", actor=ada, based_on=based_on
    )


def publish(
    repository: Repository, ada: User, *, based_on: int, clause_id: str = "", **changes: Any
) -> RepositoryPolicy:
    return policy_clause_publish(
        repository=repository,
        clause_id=clause_id,
        parts={**PARTS, **changes},
        reason="Agreed.",
        actor=ada,
        based_on=based_on,
    )


def scan(repository: Repository) -> ScanRun:
    commit, branch = scan_requests.commit_locate(repository=repository, revision="")
    asked = scan_requests.scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)
    if not asked.is_over:
        assert scan_run_execute(pk=asked.pk, after_ingest=scan_run_follow_up)
    return ScanRun.objects.get(pk=asked.pk)


def test_each_publication_is_a_version_with_author_and_reason(repository: Repository, ada: User) -> None:
    first = set_levels(repository, ada, based_on=0, FT014="none", FT001="error")
    second = publish(repository, ada, based_on=1)
    assert first.levels == {"FT014": "none"}, "a level that is the rule's own is not kept"
    assert (first.number, first.what, first.author) == (1, "Levels: FT014 none", ada)
    assert (second.number, second.what) == (2, "Added P1: No host body in the solver")
    assert second.levels == first.levels
    assert str(version_in_force(repository=repository)) == "1+2"
    assert [clause.id for clause in clauses_resting(own_clauses(second.clauses), rule_id="FT001")] == ["P1"]
    assert [
        clause.id
        for clause in clauses_resting(own_clauses(second.clauses), rule_id="FT005", form="early-return")
    ] == ["P1"]
    assert clauses_resting(own_clauses(second.clauses), rule_id="FT005") == ()


def test_a_version_is_never_changed(repository: Repository, ada: User) -> None:
    policy = set_levels(repository, ada, based_on=0, FT014="none")
    with pytest.raises(DatabaseError, match="Cannot update"), transaction.atomic():
        RepositoryPolicy.objects.filter(pk=policy.pk).update(levels={})


def test_a_clause_is_changed_and_dropped_and_its_number_never_given_again(
    repository: Repository, ada: User
) -> None:
    publish(repository, ada, based_on=0)
    changed = publish(repository, ada, based_on=1, clause_id="P1", text="Not even gated.")
    assert changed.what.startswith("Changed P1")
    dropped = policy_clause_drop(
        repository=repository, clause_id="P1", reason="The crate is gone.", actor=ada, based_on=2
    )
    assert (dropped.clauses, dropped.what) == ([], "Dropped P1: No host body in the solver")
    again = publish(repository, ada, based_on=3)
    assert [row["id"] for row in again.clauses] == ["P2"]
    first = edition_of(repository=repository, version=version_in_force(repository=repository)._replace(own=1))
    assert first is not None
    assert first.clauses[-1].text == PARTS["text"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": " "}, "Clause `P1`: `title` is missing"),
        ({"rules": ["FT099"]}, "There is no rule `FT099`"),
        ({"forms": ["nothing"]}, "There is no form `nothing`"),
        ({"kind": "wished"}, "there is no kind `wished`"),
        ({"text": "x" * 8_001}, "No part of a clause is longer than 8,000 characters"),
    ],
)
def test_a_wrong_clause_is_refused_with_the_reason(
    repository: Repository, ada: User, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        publish(repository, ada, based_on=0, **changes)
    assert not RepositoryPolicy.objects.exists()


def test_what_was_published_meanwhile_is_not_overwritten(repository: Repository, ada: User) -> None:
    set_levels(repository, ada, based_on=0, FT014="none")
    with pytest.raises(AuditError, match="Somebody published another version meanwhile"):
        set_levels(repository, ada, based_on=0, FT014="error")


def test_nothing_new_and_no_reason_are_no_version(repository: Repository, ada: User) -> None:
    publish(repository, ada, based_on=0)
    with pytest.raises(AuditError, match="nothing to publish"):
        publish(repository, ada, based_on=1, clause_id="P1")
    with pytest.raises(AuditError, match="nothing to publish"):
        set_levels(repository, ada, based_on=1, FT001="error")
    with pytest.raises(AuditError, match="Say why"):
        policy_levels_publish(
            repository=repository, levels={"FT014": "none"}, reason=" ", actor=ada, based_on=1
        )
    with pytest.raises(AuditError, match="no rule FT099"):
        set_levels(repository, ada, based_on=1, FT099="none")
    with pytest.raises(AuditError, match="is no level"):
        set_levels(repository, ada, based_on=1, FT001="off")


def test_a_scan_keeps_its_version_and_another_level_is_no_other_site(tmp_path: Path, ada: User) -> None:
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/src/lib.rs": FALLBACK, "minitorch-gpu/Cargo.toml": MANIFEST})
    repository = repository_add(location=str(tree), actor=None)
    first = scan(repository)
    site = FallbackSite.objects.get(rule_id="FT001")
    set_levels(repository, ada, based_on=0, FT001="note")
    assert SiteState.objects.get(site=site).level == "error", "the next scan judges, not the publication"
    second = scan(repository)

    assert (first.policy_version, second.policy_version) == ("1", "1+1")
    assert first.pk != second.pk
    before, after = Result.objects.filter(site=site).order_by("scan_run_id")
    assert (before.level, after.level) == ("error", "note")
    assert before.partial_fingerprints == after.partial_fingerprints
    state = SiteState.objects.get(site=site)
    assert (state.level, state.is_open, state.baseline_state) == ("note", True, "updated")
    assert (second.new_count, second.absent_count) == (0, 0)
    assert not SiteState.objects.exclude(site=site).exclude(baseline_state="unchanged").exists()
    assert scan_report(scan_run=second).level_overrides == {"FT001": Level.NOTE}
    assert scan_report(scan_run=first).level_overrides == {}
    for scan_run, version, level in ((first, "1", "error"), (second, "1+1", "note")):
        (run,) = sarif_log(scan_report(scan_run=scan_run), RULES)["runs"]
        assert run["properties"]["policyVersion"] == version
        assert {one["level"] for one in run["results"] if one["ruleId"] == "FT001"} == {level}
    assert scan(repository) == second, "the same judge and policy scan a commit once"


def test_a_history_is_not_judged_anew_and_what_comes_is_judged_under_the_policy_in_force(
    tmp_path: Path, ada: User
) -> None:
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/src/lib.rs": FALLBACK, "minitorch-gpu/Cargo.toml": MANIFEST})
    repository = repository_add(location=str(tree), actor=None)
    backfill(repository)
    set_levels(repository, ada, based_on=0, FT001="note")
    commit_files(tree, {"NOTES.txt": "no code"})
    assert backfill(repository).kept == 1
    versions = ScanRun.objects.order_by("id").values_list("policy_version", flat=True)
    assert list(versions) == ["1", "1+1"]
    levels = Result.objects.filter(rule_id="FT001").order_by("scan_run_id").values_list("level", flat=True)
    assert list(levels) == ["error", "note"]
    assert backfill(repository).kept == 2


def test_levels_of_a_version_that_is_not_known_are_the_rules_own(repository: Repository, ada: User) -> None:
    set_levels(repository, ada, based_on=0, FT014="none")
    assert levels_of(repository=repository, version="1+1") == {"FT014": Level.NONE}
    for version in ("", "1", "1+2", "9+1", "nonsense"):
        assert levels_of(repository=repository, version=version) == {}
    assert {rule.id for rule in RULES} >= {"FT014"}

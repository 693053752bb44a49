"""Results of other tools, imported by programs."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from audit.imports.rows import MAX_BYTES
from audit.models import AuditUpload, FallbackSite, ImportedFinding, Repository, RepositoryKind
from migrations_tracker.roles import Role
from tests.audit.imports.test_sarif_checks import a_log, a_result
from tests.factories import ingest, make_report, make_result, make_user
from tests.migrations_tracker.api.v1.conftest import Ask, asker

PATH = "repositories/minitorch/sarif"


@pytest.fixture
def lead(db: None) -> Ask:
    return asker(make_user("lena", role=Role.LEAD))


@pytest.fixture
def log(site: FallbackSite) -> dict[str, Any]:
    commit = site.first_seen_scan.commit.object_id
    found = a_result("minitorch-gpu/src/ops.rs", 1, message={"text": "`relu` falls back to the host"})
    return a_log(found, versionControlProvenance=[{"repositoryUri": "x", "revisionId": commit}])


def test_a_log_becomes_findings_of_an_audit_named_after_the_tool(log: dict[str, Any], lead: Ask) -> None:
    answer = lead("POST", PATH, log)
    assert (answer.status_code, answer.json()["name"], answer.json()["added"]) == (201, "clippy", 1)
    assert ImportedFinding.objects.get().audit_id == answer.json()["audit"]


def test_the_same_log_again_changes_nothing_and_a_newer_one_is_read_anew(
    log: dict[str, Any], lead: Ask
) -> None:
    first = lead("POST", PATH, log)
    again = lead("POST", PATH, log)
    assert (again.status_code, again.json()) == (200, first.json())
    assert AuditUpload.objects.count() == 1
    log["runs"][0]["results"].append(a_result("minitorch-gpu/src/ops.rs", 40))
    newer = lead("POST", PATH, log).json()
    assert (newer["added"], newer["kept"]) == (1, 1)


def test_the_same_log_of_another_commit_is_read_for_that_commit(
    repository: Repository, log: dict[str, Any], lead: Ask
) -> None:
    ingest(repository, make_report([make_result()]))
    older, newer = repository.commits.order_by("pk").values_list("object_id", flat=True)
    answers = [lead("POST", f"{PATH}?commit={quote(commit)}", log) for commit in (older, newer, older, newer)]
    assert [answer.status_code for answer in answers] == [201, 201, 200, 200]
    assert [answer.json()["commit"] for answer in answers] == [older, newer, older, newer]


def test_an_engineer_imports_nothing(log: dict[str, Any], ask: Ask) -> None:
    assert ask("POST", PATH, log).status_code == 403


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"results": [a_result("/abs/a.rs")]}, "absolute path"),
        ({"results": [a_result(artifact={"uriBaseId": "CARGO_HOME"})]}, "not the root of a repository"),
        (
            {"results": [a_result(line=n, partialFingerprints={"a": "1"}) for n in (1, 2)]},
            "tells none from another",
        ),
        ({"tool": {}}, "does not name its tool"),
        ({"versionControlProvenance": []}, "which commit"),
        ({"versionControlProvenance": 5}, "is no list"),
        ({"results": [a_result(line=float("inf"))]}, "not as sarif 2.1.0"),
        ({"results": []}, "No finding"),
    ],
)
def test_a_log_that_can_t_be_used_is_refused_with_the_reason(
    log: dict[str, Any], lead: Ask, change: dict[str, Any], reason: str
) -> None:
    log["runs"][0] |= change
    answer = lead("POST", PATH, log)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert reason in answer.json()["detail"]
    assert not AuditUpload.objects.exists()


def test_a_log_of_another_repository_is_refused(log: dict[str, Any], lead: Ask) -> None:
    Repository.objects.update(kind=RepositoryKind.GIT_URL, location="https://example.org/team/minitorch.git")
    log["runs"][0]["versionControlProvenance"][0]["repositoryUri"] = "https://example.org/team/other"
    answer = lead("POST", PATH, log)
    assert answer.status_code == 422
    assert "https://example.org/team/other" in answer.json()["detail"]
    log["runs"][0]["versionControlProvenance"][0]["repositoryUri"] = "git@example.org:team/minitorch.git"
    assert lead("POST", PATH, log).status_code == 201


@pytest.mark.parametrize("size", [MAX_BYTES, 7_000_000])
def test_a_log_that_is_too_large_is_refused(log: dict[str, Any], lead: Ask, size: int) -> None:
    log["runs"][0]["properties"] = {"x": "x" * size}
    answer = lead("POST", PATH, log)
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"
    assert len(json.dumps(log)) > size

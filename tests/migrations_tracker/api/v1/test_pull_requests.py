"""Programs that tell of pull requests."""

from __future__ import annotations

import pytest

from audit.models import PullRequest, PullRequestCheck, Repository, RepositoryKind
from migrations_tracker.roles import Role
from tests.factories import make_user
from tests.migrations_tracker.api.v1.conftest import Ask, asker

ADDRESS = "repositories/minitorch/pull-requests"
BODY = {"head": "a" * 40, "base": "b" * 40, "title": "Refuse in relu", "body": "No fallback in `gpu_relu`."}


@pytest.fixture(autouse=True)
def with_commits(repository: Repository) -> None:
    """A plain folder has no pull requests."""
    Repository.objects.update(kind=RepositoryKind.GIT_PATH)


def test_a_plain_folder_has_none(repository: Repository, ask: Ask) -> None:
    Repository.objects.update(kind=RepositoryKind.FOLDER)
    assert ask("PUT", f"{ADDRESS}/7", BODY).status_code == 422
    assert not PullRequest.objects.exists()


def test_a_program_tells_of_a_pull_request_and_reads_it(repository: Repository, ask: Ask) -> None:
    answer = ask("PUT", f"{ADDRESS}/7", BODY)
    assert answer.status_code == 202
    told = answer.json()
    assert (told["number"], told["state"], told["check"], told["new"]) == (7, "open", "pending", None)
    row = PullRequest.objects.get()
    assert (row.title, row.body, row.head_id) == (BODY["title"], BODY["body"], BODY["head"])
    assert ask("GET", f"{ADDRESS}/7").json() == told
    assert [one["number"] for one in ask("GET", ADDRESS).json()["items"]] == [7]


def test_told_again_it_is_revised_and_its_code_is_checked_once(repository: Repository, ask: Ask) -> None:
    for body in (BODY, BODY | {"title": "Refuse in relu and gelu", "state": "closed"}):
        ask("PUT", f"{ADDRESS}/7", body)
    assert PullRequest.objects.get().title == "Refuse in relu and gelu"
    assert PullRequestCheck.objects.count() == 1
    assert ask("GET", ADDRESS).json()["items"] == []
    assert len(ask("GET", f"{ADDRESS}?state=closed").json()["items"]) == 1


@pytest.mark.parametrize(
    ("number", "body"),
    [
        ("7", {"base": "b" * 40}),
        ("7", BODY | {"head": "main"}),
        ("7", BODY | {"body": "\0"}),
        ("7", BODY | {"body": "x" * 200_001}),
        ("0", BODY),
        ("x", BODY),
        ("9999999999", BODY),
    ],
)
def test_what_is_none_is_refused(repository: Repository, ask: Ask, number: str, body: object) -> None:
    assert ask("PUT", f"{ADDRESS}/{number}", body).status_code == 422
    assert not PullRequest.objects.exists()


def test_whoever_only_reads_tells_of_none(repository: Repository) -> None:
    read = asker(make_user("rita", role=Role.READER))
    assert read("PUT", f"{ADDRESS}/7", BODY).status_code == 403
    assert read("GET", f"{ADDRESS}/7").status_code == 404
    assert not PullRequest.objects.exists()

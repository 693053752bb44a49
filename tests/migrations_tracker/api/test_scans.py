"""Programs that ask for scans, and Git servers that tell of pushes."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import (
    AskedBy,
    PullRequest,
    PullRequestCheck,
    Repository,
    RowState,
    ScanRequest,
    ScanRun,
)
from audit.services.leases import lease_claim
from audit.services.repositories import repository_add
from migrations_tracker.models import ApiToken
from migrations_tracker.services.api_tokens import api_token_create, api_token_revoke
from migrations_tracker.services.pushes import push_close, push_secret, push_secret_renew
from tests.factories import make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db

FILES = {"src/lib.rs": "fn f() {}\n", "Cargo.toml": '[package]\nname = "f"\nversion = "0.1.0"\n'}


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def token(ada: User) -> str:
    return api_token_create(owner=ada, name="CI")[1]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    commit_files(tmp_path / "tree", FILES)
    return repository_add(location=(tmp_path / "tree").as_uri(), actor=None)


def ask(address: str, token: str, body: object = None, **headers: str) -> Any:
    client = Client(enforce_csrf_checks=True)
    given = {"Authorization": f"Bearer {token}", **headers} if token else headers
    return client.post(address, json.dumps(body or {}), content_type="application/json", headers=given)


def test_a_program_asks_for_a_scan_and_hears_how_far_it_is(
    repository: Repository, token: str, ada: User
) -> None:
    address = reverse("api-scan-create", args=[repository.slug])
    answer = ask(address, token, {"revision": "main"})
    assert answer.status_code == 202
    request = ScanRequest.objects.get()
    assert (request.asked_by, request.requested_by, request.revision) == (AskedBy.API, ada, "main")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    state = client.get(reverse("api-scan-request", args=[request.pk])).json()
    assert (state["state"], state["scan"]) == ("pending", None)


def test_a_program_asks_for_what_is_new(repository: Repository, token: str) -> None:
    ask(reverse("api-scan-create", args=[repository.slug]), token, {"follow": True})
    assert ScanRequest.objects.get().follows


def test_a_scan_of_what_is_here_is_answered_with_its_state(tmp_path: Path, token: str) -> None:
    commit_files(tmp_path / "tree", FILES)
    repository = repository_add(location=str(tmp_path / "tree"), actor=None)
    answer = ask(reverse("api-scan-create", args=[repository.slug]), token).json()
    scan_run = ScanRun.objects.get()
    assert (answer["scan"], answer["state"], answer["branch"]) == (scan_run.pk, RowState.PENDING, "main")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    assert client.get(reverse("api-scan", args=[scan_run.pk])).json()["commit"] == scan_run.commit.object_id


def test_without_a_good_token_nothing_is_answered(repository: Repository, ada: User) -> None:
    made, revoked = api_token_create(owner=ada, name="old")
    assert api_token_revoke(token=made)
    assert not api_token_revoke(token=made)
    idle = make_user("idle")
    _, of_idle = api_token_create(owner=idle, name="CI")
    User.objects.filter(pk=idle.pk).update(is_active=False)
    for text in ("", "fa_nothing", "nothing", revoked, of_idle):
        for name, kind in (("api-scan-create", "post"), ("api-repository-create", "post")):
            address = reverse(name, args=[repository.slug] if "scan" in name else [])
            answer = getattr(Client(), kind)(address, headers={"Authorization": f"Bearer {text}"})
            assert (answer.status_code, "error" in answer.json()) == (401, True)
    assert not ScanRequest.objects.exists()


def test_a_session_is_no_token(repository: Repository, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert client.post(reverse("api-scan-create", args=[repository.slug])).status_code == 401


def test_a_program_reads_the_capabilities_with_its_token(token: str) -> None:
    address = reverse("api-capabilities")
    answer = Client(headers={"Authorization": f"Bearer {token}"}).get(address)
    assert (answer.status_code, answer.json()) == (404, {"error": "No scan with capabilities is stored."})
    assert Client(headers={"Authorization": "Bearer fa_no"}).get(address).status_code == 401
    assert Client(headers={"Authorization": "Basic x"}).get(address).status_code == 401
    assert Client().get(address)["Location"].startswith("/login/")


def test_a_token_is_kept_as_a_digest_alone(token: str) -> None:
    row = ApiToken.objects.values().get()
    assert token not in str(row)
    assert row["digest"] == hashlib.sha256(token.encode()).hexdigest()


def test_a_token_may_do_what_its_owner_may(tmp_path: Path, token: str) -> None:
    commit_files(tmp_path / "tree", FILES)
    address = reverse("api-repository-create")
    body = {"location": str(tmp_path / "tree"), "name": "Tree"}
    assert ask(address, token, body).status_code == 403
    _, of_root = api_token_create(owner=make_user("root", is_superuser=True), name="CI")
    assert ask(address, of_root, body).json()["slug"] == "tree"
    assert ask(address, of_root, {"location": "ftp://example.org/x"}).status_code == 422


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"revision": 7}', b"\xff", b'{"revision": "' + b"x" * 70_000]
)
def test_rubbish_is_refused_with_a_sentence(repository: Repository, token: str, body: bytes) -> None:
    answer = Client().post(
        reverse("api-scan-create", args=[repository.slug]),
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code in {400, 413}
    assert answer.json()["error"]


def pushed(
    repository: Repository,
    body: bytes,
    *,
    secret: str = "",
    event: str = "push",
    name: str = "X-Hub-Signature-256",
) -> Any:
    secret = secret or push_secret(repository=repository)
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    prefix = "sha256=" if name == "X-Hub-Signature-256" else ""
    kind = "X-GitHub-Event" if prefix else "X-Gitea-Event"
    return Client(enforce_csrf_checks=True).post(
        reverse("api-push", args=[repository.slug]),
        body,
        content_type="application/json",
        headers={name: prefix + signature, kind: event},
    )


PUSH = b'{"ref": "refs/heads/main", "after": "abc"}'


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "X-Gitea-Signature"])
def test_a_signed_push_asks_for_what_is_new_and_a_replay_asks_for_nothing_more(
    repository: Repository, name: str
) -> None:
    push_secret_renew(repository=repository)
    for _ in range(3):
        assert pushed(repository, PUSH, name=name).status_code == 202
    request = ScanRequest.objects.get()
    assert (request.asked_by, request.follows, request.requested_by) == (AskedBy.PUSH, True, None)


def test_a_push_that_is_not_signed_is_refused(repository: Repository) -> None:
    assert pushed(repository, PUSH, secret="x").status_code == 401, "no address was opened"
    push_secret_renew(repository=repository)
    old = push_secret(repository=repository)
    assert pushed(repository, PUSH, secret="x").status_code == 401
    address = reverse("api-push", args=[repository.slug])
    for headers in ({}, {"X-Hub-Signature-256": "sha256="}, {"X-Hub-Signature-256": "é"}):
        assert Client().post(address, PUSH, content_type="text/plain", headers=headers).status_code == 401
    signature = hmac.new(old.encode(), PUSH, hashlib.sha256).hexdigest()
    tampered = Client().post(
        address,
        PUSH + b" ",
        content_type="application/json",
        headers={"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Event": "push"},
    )
    assert tampered.status_code == 401
    push_secret_renew(repository=repository)
    assert pushed(repository, PUSH, secret=old).status_code == 401, "the secret before ended"
    push_close(repository=repository)
    assert pushed(repository, PUSH).status_code == 401
    unknown = Client().post("/api/repositories/nowhere/push", PUSH, content_type="application/json")
    assert unknown.status_code == 401
    assert not ScanRequest.objects.exists()


def test_what_is_no_push_to_a_followed_branch_is_heard_and_asks_for_nothing(repository: Repository) -> None:
    push_secret_renew(repository=repository)
    Repository.objects.update(followed_branches=["main", "release/*"])
    for body, event in (
        (b"{}", "ping"),
        (b'{"ref": "refs/tags/v1"}', "push"),
        (b'{"ref": "refs/heads/topic"}', "push"),
        (b"{}", "push"),
    ):
        answer = pushed(repository, body, event=event)
        assert (answer.status_code, answer.json()["asked"]) == (200, False)
    assert pushed(repository, b"{", event="push").status_code == 400
    assert not ScanRequest.objects.exists()
    assert pushed(repository, b'{"ref": "refs/heads/release/2"}').json()["asked"]


PULL_REQUEST = {
    "action": "opened",
    "number": 7,
    "pull_request": {
        "number": 7,
        "title": "Refuse in relu",
        "body": "No fallback in `gpu_relu` any more.",
        "state": "open",
        "updated_at": "2026-06-01T12:00:00Z",
        "html_url": "https://example.org/pull/7",
        "head": {"sha": "a" * 40, "ref": "topic"},
        "base": {"sha": "b" * 40, "ref": "main"},
    },
}


def test_a_signed_pull_request_is_kept_and_checked_and_its_edit_is_kept_too(repository: Repository) -> None:
    push_secret_renew(repository=repository)
    first = json.dumps(PULL_REQUEST).encode()
    assert pushed(repository, first, secret="x", event="pull_request").status_code == 401
    assert not PullRequest.objects.exists()
    for body in (first, first):
        answer = pushed(repository, body, event="pull_request")
        assert (answer.status_code, answer.json()) == (202, {"heard": "pull_request", "asked": True})
    check = PullRequestCheck.objects.get()
    assert (check.pull_request.number, check.head_id, check.state) == (7, "a" * 40, RowState.PENDING)
    edited = json.dumps(PULL_REQUEST).replace("any more", "at all").replace("12:00:00Z", "13:00:00Z")
    pushed(repository, edited.encode(), event="pull_request")
    assert PullRequest.objects.get().body == "No fallback in `gpu_relu` at all."
    # The first message once more, late: nothing goes back.
    assert pushed(repository, first, event="pull_request").json()["asked"] is False
    assert PullRequest.objects.get().body == "No fallback in `gpu_relu` at all."
    assert PullRequestCheck.objects.count() == 1


@pytest.mark.parametrize("body", [b"{}", b'{"pull_request": 7}', b'{"pull_request": {"number": "x"}}'])
def test_a_pull_request_that_is_none_is_refused_with_a_sentence(repository: Repository, body: bytes) -> None:
    push_secret_renew(repository=repository)
    answer = pushed(repository, body, event="pull_request")
    assert (answer.status_code, bool(answer.json()["error"])) == (422, True)
    assert not PullRequest.objects.exists()


def test_the_secret_stands_in_no_row(repository: Repository) -> None:
    push_secret_renew(repository=repository)
    assert push_secret(repository=repository) not in str(Repository.objects.values().get())


def test_a_push_while_another_is_fetched_is_not_lost(repository: Repository) -> None:
    push_secret_renew(repository=repository)
    pushed(repository, PUSH)
    assert lease_claim(model=ScanRequest, pk=ScanRequest.objects.get().pk)
    pushed(repository, PUSH)
    assert sorted(ScanRequest.objects.values_list("state", flat=True)) == ["pending", "running"]

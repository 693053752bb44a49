"""Mechanical reports are asked for, shown and handed out; programs get what runs showed."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from audit.models import Commit, Repository
from audit.scanner.proof.__main__ import main
from migrations_tracker.services.api_tokens import api_token_create
from tests.factories import PASSWORD, make_user
from tests.workers.workspace import make_workspace
from workers.models import MechanicalReport
from workers.services.mechanical import mechanical_report_execute

pytestmark = pytest.mark.django_db
RELU = "mini_gpu::ops::gpu_relu"


@pytest.fixture
def user(client: Client) -> User:
    person = make_user()
    assert client.login(username=person.username, password=PASSWORD)
    return person


@pytest.fixture
def workspace(settings: LazySettings, tmp_path: Path) -> tuple[Repository, Commit]:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    return make_workspace(tmp_path)


def ask(client: Client, **what: str) -> MechanicalReport:
    response = client.post("/verification-reports/ask/", {"repository": "mini", **what})
    report = MechanicalReport.objects.latest("id")
    assert response.headers["Location"] == report.get_absolute_url()
    return report


def test_a_report_is_asked_for_written_and_shown(
    client: Client, user: User, workspace: tuple[Repository, Commit]
) -> None:
    report = ask(client, symbol=RELU, revision="main")
    assert report.requested_by == user
    assert "Waiting for a worker" in client.get(report.get_absolute_url()).content.decode()
    mechanical_report_execute(pk=report.pk)
    page = client.get(report.get_absolute_url()).content.decode()
    for check in ("4a backend evidence", "4b CPU detours", "4c stub residue", "4d test", "4e adversarial"):
        assert check in page
    assert "Not done" in page and "relu_kernel" in page and "4 tests reach it" in page
    assert report.get_absolute_url() in client.get("/verification-reports/").content.decode()
    response = client.get(f"/verification-reports/{report.pk}.md")
    assert response.content.decode().startswith(f"# Mechanical report: {RELU}")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"revision": "main"}, "Name either a function"),
        ({"symbol": RELU}, "no finished scan"),
        ({"symbol": RELU, "revision": "nowhere"}, "no revision"),
        ({"symbol": RELU, "revision": "--output=x"}, "no name of a branch"),
    ],
)
def test_what_can_not_be_reported_on_is_told(
    client: Client, user: User, workspace: tuple[Repository, Commit], what: dict[str, str], said: str
) -> None:
    response = client.post("/verification-reports/ask/", {"repository": "mini", **what}, follow=True)
    assert said in response.content.decode() and not MechanicalReport.objects.exists()


def test_a_report_that_is_not_written_has_no_file(
    client: Client, user: User, workspace: tuple[Repository, Commit]
) -> None:
    report = ask(client, symbol=RELU, revision="main")
    assert client.get(f"/verification-reports/{report.pk}.md").status_code == 404


def test_nobody_sees_a_report_without_signing_in(workspace: tuple[Repository, Commit]) -> None:
    for address in ("/verification-reports/", "/verification-reports/1/", "/verification-reports/1.md"):
        assert "/login/" in Client().get(address).headers["Location"]
    assert Client().get("/api/verifications/mini").status_code == 401


def test_a_program_gets_what_the_command_reads(
    user: User, workspace: tuple[Repository, Commit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "facts"))
    repository, commit = workspace
    _, token = api_token_create(owner=user, name="CI")
    headers = {"Authorization": f"Bearer {token}"}
    response = Client().get(f"/api/verifications/mini?commit={commit.object_id}", headers=headers)
    assert (response.status_code, response.json()) == (200, [])
    (tmp_path / "runs.json").write_bytes(response.content)
    arguments = [repository.location, "--rev", "main", "--function", RELU, "--no-fail"]
    assert main([*arguments, "--runs", str(tmp_path / "runs.json")]) == 0
    assert Client().get("/api/verifications/nowhere", headers=headers).status_code == 404
    assert Client().get("/api/verifications/mini?commit=f", headers=headers).status_code == 404

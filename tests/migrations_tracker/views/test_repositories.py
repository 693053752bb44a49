"""Adding repositories and asking for scans on the pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Repository, ScanRequest, ScanRun
from audit.services.repositories import repository_add
from audit.services.scan_requests import scan_request_execute
from tests.git import commit_files

ADD = "/repositories/add/"
SOURCE = {"src/lib.rs": "pub fn f() {}\n", "Cargo.toml": '[package]\nname = "f"\nversion = "0.1.0"\n'}


def test_an_empty_overview_says_what_to_do(root_client: Client) -> None:
    response = root_client.get(reverse("overview"))
    assert b"Add a repository to begin" in response.content


def test_a_person_without_the_right_may_not_add(ada_client: Client) -> None:
    response = ada_client.get(ADD)
    assert response.status_code == 403
    assert b"not allowed to do this" in response.content
    assert ADD.encode() not in ada_client.get(reverse("overview")).content


def test_adding_asks_for_the_first_scan(root_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", SOURCE)
    response = root_client.post(ADD, {"location": str(tmp_path / "tree"), "name": "Tree"})
    scan_run = ScanRun.objects.get()
    assert response.status_code == 302
    assert response["Location"] == scan_run.get_absolute_url()
    assert (scan_run.state, scan_run.repository.name) == ("pending", "Tree")


def test_adding_a_url_makes_a_request_that_the_worker_fetches(root_client: Client) -> None:
    response = root_client.post(ADD, {"location": "https://example.org/team/torch.git"})
    request = ScanRequest.objects.get()
    assert response["Location"] == request.get_absolute_url()
    page = root_client.get(request.get_absolute_url())
    assert b"Waiting for a worker" in page.content


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("", b"This field is required"),
        ("ext::sh -c id", b"no absolute path"),
        ("ftp://example.org/x", b"addresses are not fetched"),
        ("https://me:secret@example.org/x", b"holds a password"),
        ("torch", b"no absolute path"),
        ("../torch", b"no absolute path"),
        ("/", b"is the whole disk"),
        ("/proc", b"holds no files"),
        ("/nonexistent", b"does not exist on this machine"),
    ],
)
def test_a_refused_address_is_explained_and_kept(root_client: Client, location: str, reason: bytes) -> None:
    response = root_client.post(ADD, {"location": location, "name": "Torch", "revision": "main"})
    assert response.status_code == 422
    assert reason in response.content
    assert f'value="{location}"'.encode() in response.content or not location
    assert b'value="Torch"' in response.content
    assert not Repository.objects.exists()


def test_an_unknown_revision_is_explained_and_kept(root_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", SOURCE)
    root_client.post(ADD, {"location": str(tmp_path / "tree")})
    repository = Repository.objects.get()
    response = root_client.post(reverse("repository-scan", args=[repository.slug]), {"revision": "nowhere"})
    assert response.status_code == 422
    assert b"no revision <code>nowhere</code>" in response.content
    assert b'value="nowhere"' in response.content


def test_an_unknown_first_revision_still_adds_the_repository(root_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", SOURCE)
    response = root_client.post(ADD, {"location": str(tmp_path / "tree"), "revision": "nowhere"}, follow=True)
    assert b"was added, but not scanned" in response.content
    assert not ScanRun.objects.exists()


def test_asking_again_shows_the_scan_that_is_there(root_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", SOURCE)
    first = root_client.post(ADD, {"location": str(tmp_path / "tree")})
    repository = Repository.objects.get()
    again = root_client.post(reverse("repository-scan", args=[repository.slug]), {"revision": "main"})
    assert again["Location"] == first["Location"]


def test_what_is_typed_is_shown_as_text(root_client: Client) -> None:
    response = root_client.post(ADD, {"location": "/<script>alert(1)</script>"})
    assert b"<script>alert" not in response.content


def test_a_plain_folder_is_left_for_the_worker_to_read(root_client: Client, tmp_path: Path) -> None:
    response = root_client.post(ADD, {"location": str(tmp_path)})
    request = ScanRequest.objects.get()
    assert response["Location"] == request.get_absolute_url()
    assert scan_request_execute(pk=request.pk) == []
    assert b"holds no Rust file" in root_client.get(request.get_absolute_url()).content


def test_how_a_repository_is_scanned_is_set_on_its_page(root_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", SOURCE)
    repository = repository_add(location=(tmp_path / "tree").as_uri(), actor=None)
    address = reverse("repository-settings", args=[repository.slug])
    given = {"followed_branches": "main\nrelease/*", "schedule": "0 6 * * 1-5", "profile": "candle"}
    assert root_client.post(address, given)["Location"] == repository.get_absolute_url()
    text = root_client.get(repository.get_absolute_url()).content.decode()
    for expected in ("release/*", "At 06:00, Monday through Friday", "candle"):
        assert expected in text
    assert "0 6 * * 1-5" in root_client.get(address).content.decode()


def test_a_wrong_schedule_is_explained_and_kept(root_client: Client, repository: Repository) -> None:
    address = reverse("repository-settings", args=[repository.slug])
    response = root_client.post(address, {"schedule": "daily", "followed_branches": "main"})
    assert response.status_code == 422
    assert b"five fields" in response.content
    assert b'value="daily"' in response.content


def test_settings_are_for_those_with_the_right(ada_client: Client, repository: Repository) -> None:
    address = reverse("repository-settings", args=[repository.slug])
    assert ada_client.get(address).status_code == 403
    assert ada_client.post(address, {"schedule": "0 6 * * *"}).status_code == 403
    assert address.encode() not in ada_client.get(repository.get_absolute_url()).content


def test_looking_for_new_commits_makes_one_request(ada_client: Client, repository: Repository) -> None:
    address = reverse("repository-follow", args=[repository.slug])
    first, again = ada_client.post(address), ada_client.post(address)
    assert first["Location"] == again["Location"] == ScanRequest.objects.get().get_absolute_url()
    assert b"for a person" in ada_client.get(repository.get_absolute_url()).content
    cancelled = ada_client.post(
        reverse("scan-request-cancel", args=[ScanRequest.objects.get().pk]), follow=True
    )
    assert b"was cancelled by ada" in cancelled.content

"""Fetching: the origin's default branch, limits, credentials that are nowhere kept."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from audit.errors import LeaseLostError, RepositoryNotUsableError, RevisionUnknownError
from audit.models import Repository, ScanRequest
from audit.services import git_repository, scan_requests
from audit.services.git_transfer import repository_fetch
from audit.services.repositories import repository_add
from tests.audit.services.git_server import git_server
from tests.factories import make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t-p4ssw0rd"
FILES = {"src/lib.rs": "fn f() {}\n", "Cargo.toml": '[package]\nname = "f"\nversion = "0.1.0"\n'}


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    settings.CREDENTIALS_DIR = tmp_path / "credentials"
    settings.CREDENTIALS_DIR.mkdir()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    commit_files(tmp_path / "tree", FILES)
    return tmp_path / "tree"


def git(tree: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True)


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_the_clone_s_head_follows_the_default_branch_of_its_origin(tree: Path, tmp_path: Path) -> None:
    git(tree, "clone", "--quiet", "--bare", ".", str(tmp_path / "origin.git"))
    repository = repository_add(location=(tmp_path / "origin.git").as_uri(), actor=None)
    repository_fetch(repository=repository)
    git_dir = git_repository.git_dir_of(repository)
    assert git_repository.default_branch(git_dir=git_dir) == "main"
    git(tree, "switch", "--quiet", "--create", "trunk")
    newest = commit_files(tree, {"src/lib.rs": "fn g() {}\n"})
    git(tree, "push", "--quiet", str(tmp_path / "origin.git"), "trunk")
    git(tmp_path / "origin.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    repository_fetch(repository=repository)
    assert git_repository.default_branch(git_dir=git_dir) == "trunk"
    assert git_repository.commit_resolve(git_dir=git_dir, revision="").object_id == newest


@pytest.fixture
def large_tree(tree: Path) -> Path:
    noise = random.Random(7).randbytes(3 * 1024 * 1024)
    (tree / "noise.bin").write_bytes(noise)
    commit_files(tree, {})
    return tree


def test_an_origin_that_is_too_large_is_refused_and_leaves_nothing(
    large_tree: Path, settings: Settings, tmp_path: Path
) -> None:
    settings.FETCH_MAX_MB = 1
    repository = repository_add(location=large_tree.as_uri(), actor=None)
    with pytest.raises(RepositoryNotUsableError, match=r"larger than 1 MB.*FETCH_MAX_MB"):
        repository_fetch(repository=repository)
    assert [path.name for path in (tmp_path / "clones").iterdir()] == [f"{repository.pk}.lock"]


def test_a_disk_that_is_nearly_full_is_not_filled(tree: Path, settings: Settings, tmp_path: Path) -> None:
    settings.FETCH_KEEP_FREE_MB = 10**9
    repository = repository_add(location=tree.as_uri(), actor=None)
    with pytest.raises(RepositoryNotUsableError, match="FETCH_KEEP_FREE_MB"):
        repository_fetch(repository=repository)
    assert [path.name for path in (tmp_path / "clones").iterdir()] == [f"{repository.pk}.lock"]


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], bool]]:
    """Put a git on the path that clones for ever, and tell whether it does; look that none is left."""
    mark = tmp_path / "slow.pid"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *" clone "*) echo $$ >> "{mark}"; exec sleep 600;; '
        f'*) exec /usr/bin/env PATH="{os.environ["PATH"]}" git "$@";; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def is_cloning() -> bool:
        return mark.exists() and mark.read_text().endswith("\n")

    yield is_cloning
    assert is_cloning()
    for pid in mark.read_text().split():
        assert not Path(f"/proc/{pid}").exists(), "a git was left behind"


def test_a_fetch_that_takes_too_long_is_ended(
    tree: Path, settings: Settings, slow_git: Callable[[], bool]
) -> None:
    settings.FETCH_TIMEOUT_SECONDS = 3
    repository = repository_add(location=tree.as_uri(), actor=None)
    with pytest.raises(RepositoryNotUsableError, match="not here after 3 s"):
        repository_fetch(repository=repository)


def test_a_fetch_that_nobody_waits_for_any_more_is_ended(tree: Path, slow_git: Callable[[], bool]) -> None:
    def lost() -> None:
        if slow_git():
            raise LeaseLostError("cancelled")

    repository = repository_add(location=tree.as_uri(), actor=None)
    with pytest.raises(LeaseLostError):
        repository_fetch(repository=repository, go_on=lost)


@pytest.mark.django_db(transaction=True)
def test_cancelling_a_request_ends_its_fetch(tree: Path, slow_git: Callable[[], bool]) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
    ada = make_user()

    states: list[str] = []

    def cancel_soon() -> None:
        deadline = time.monotonic() + 60
        while not slow_git() and time.monotonic() < deadline:
            time.sleep(0.01)
        states.append(ScanRequest.objects.get(pk=request.pk).state)
        scan_requests.scan_request_cancel(scan_request=request, actor=ada)
        connection.close()

    thread = threading.Thread(target=cancel_soon)
    thread.start()
    assert scan_requests.scan_request_execute(pk=request.pk) == []
    thread.join()
    assert states == ["running"]
    request.refresh_from_db()
    assert (request.state, request.cancelled_by, request.scan_run) == ("cancelled", ada, None)
    assert not scan_requests.scan_request_cancel(scan_request=request, actor=ada)


def closed_repository(tmp_path: Path, tree: Path, address: str, reference: str) -> Repository:
    return Repository.objects.create(
        name="closed", slug="closed", kind="git-url", location=f"{address}/origin.git", credentials=reference
    )


@pytest.mark.parametrize("reference", ["env:GIT_CREDENTIAL_TEAM", "file:team"])
def test_credentials_open_a_closed_origin_and_are_kept_nowhere(
    tree: Path,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    reference: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.REPOSITORY_SCHEMES = ["http"]
    (tmp_path / "served").mkdir()
    git(tree, "clone", "--quiet", "--bare", ".", str(tmp_path / "served" / "origin.git"))
    with git_server(tmp_path / "served", user="ada", password=SECRET) as (address, _):
        line = address.replace("http://", f"http://ada:{SECRET}@")
        monkeypatch.setenv("GIT_CREDENTIAL_TEAM", f"https://x:y@elsewhere.example\n{line}")
        (settings.CREDENTIALS_DIR / "team").write_text(f"{line}\n")
        repository = closed_repository(tmp_path, tree, address, reference)
        request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
        for _ in range(2):
            scan_requests.scan_request_execute(pk=request.pk)
            request.refresh_from_db()
            assert (request.failure_reason, request.state) == ("", "succeeded")
            request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
        wrong = address.replace("http://", "http://ada:not-that-one@")
        monkeypatch.setenv("GIT_CREDENTIAL_TEAM", wrong)
        (settings.CREDENTIALS_DIR / "team").write_text(wrong)
        scan_requests.scan_request_execute(pk=request.pk)
        request.refresh_from_db()
        assert request.state == "failed"
    kept = [path for path in files_below(tmp_path / "clones") if SECRET.encode() in path.read_bytes()]
    assert kept == []
    assert SECRET not in caplog.text
    assert "not-that-one" not in caplog.text + request.failure_reason
    for table in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT count(*) FROM "{table}" AS row WHERE row::text LIKE %s', [f"%{SECRET}%"])  # noqa: S608
            assert cursor.fetchone() == (0,), table


def test_credentials_are_not_offered_to_another_host(
    tree: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPOSITORY_SCHEMES = ["http"]
    with git_server(tmp_path, user="ada", password=SECRET) as (address, asked):
        monkeypatch.setenv("GIT_CREDENTIAL_TEAM", f"http://ada:{SECRET}@git.example.org")
        repository = closed_repository(tmp_path, tree, address, "env:GIT_CREDENTIAL_TEAM")
        with pytest.raises(RepositoryNotUsableError, match="no line for this host"):
            repository_fetch(repository=repository)
        assert asked == []


def test_what_is_no_longer_allowed_is_no_longer_fetched(tree: Path, settings: Settings) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    settings.REPOSITORY_SCHEMES = ["https"]
    with pytest.raises(RepositoryNotUsableError, match="REPOSITORY_SCHEMES"):
        repository_fetch(repository=repository)


@pytest.mark.parametrize("name", ["--upload-pack=touch {mark}", "-x", "-c core.pager=touch {mark}"])
def test_an_address_or_revision_never_becomes_an_option_of_git(tree: Path, tmp_path: Path, name: str) -> None:
    mark = tmp_path / "ran"
    word = name.format(mark=mark)
    repository = repository_add(location=tree.as_uri(), actor=None)
    repository_fetch(repository=repository)
    git_dir = git_repository.git_dir_of(repository)
    with pytest.raises(RepositoryNotUsableError):
        repository_add(location=word, actor=None)
    # As if it stood in the row already, past every check of what people write.
    Repository.objects.filter(pk=repository.pk).update(location=word)
    hostile = Repository.objects.get(pk=repository.pk)
    with pytest.raises(RepositoryNotUsableError):
        repository_fetch(repository=hostile)
    with pytest.raises(RevisionUnknownError):
        scan_requests.revision_check(repository=repository, revision=word)
    with pytest.raises(RevisionUnknownError):
        git_repository.commit_resolve(git_dir=git_dir, revision=word)
    assert not git_repository.is_ancestor(git_dir=git_dir, object_id=word, of=word)
    assert not mark.exists()

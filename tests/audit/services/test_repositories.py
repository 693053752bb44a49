"""Adding repositories by path and URL."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from pytest_django import Settings

from audit.errors import RepositoryNotUsableError, RevisionUnknownError
from audit.models import Repository
from audit.services import git_repository, git_transfer
from audit.services.addresses import location_read
from audit.services.repositories import repository_add
from tests.git import commit_files

GIT_URLS = [
    ("https://example.org/team/torch.git", "https://example.org/team/torch.git"),
    ("ssh://git@example.org/torch.git", "ssh://git@example.org/torch.git"),
    ("git@example.org:team/torch.git", "ssh://git@example.org/team/torch.git"),
    ("file:///srv/torch.git", "file:///srv/torch.git"),
]
REFUSED = [
    "",
    "ext::sh -c touch% /tmp/x",
    "http://example.org/torch.git",
    "ext://sh",
    "https://user:secret@example.org/torch.git",
    "https://token@example.org/torch.git",
    "~nobody-of-that-name/torch",
    "https://-oProxyCommand=x/torch.git",
    "https://example.org",
    "https://example.org:port/x",
    "https://example.org/a b",
    f"https://example.org/{'a' * 1000}",
    "file://host/srv/x",
    "/nonexistent/folder",
    "--upload-pack=touch /tmp/x",
]


@pytest.mark.parametrize(("given", "kept"), GIT_URLS)
def test_a_url_is_kept_in_one_form(given: str, kept: str) -> None:
    assert location_read(given) == ("git-url", kept)


@pytest.mark.parametrize("given", REFUSED)
def test_what_git_would_take_for_something_else_is_refused(given: str) -> None:
    with pytest.raises(RepositoryNotUsableError):
        location_read(given)


def test_a_file_is_no_repository(tmp_path: Path) -> None:
    file = tmp_path / "lib.rs"
    file.touch()
    with pytest.raises(RepositoryNotUsableError, match="is a file"):
        location_read(str(file))


def test_a_work_tree_a_bare_repository_and_a_plain_folder_are_told_apart(tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", {"src/lib.rs": "fn f() {}\n"})
    subprocess.run(["git", "clone", "--quiet", "--bare", "tree", "bare.git"], cwd=tmp_path, check=True)
    kinds = [location_read(str(tmp_path / name))[0] for name in ("tree", "tree/.git", "bare.git", "tree/src")]
    assert kinds == ["git-path", "git-path", "git-path", "folder"]


@pytest.mark.django_db
def test_adding_a_location_again_gives_the_same_repository(tmp_path: Path) -> None:
    first = repository_add(location=str(tmp_path), actor=None)
    again = repository_add(location=f"{tmp_path}/", name="another name", actor=None)
    assert first == again
    assert Repository.objects.count() == 1


@pytest.mark.django_db
def test_two_repositories_of_one_name_have_different_addresses(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "torch").mkdir(parents=True)
    slugs = [repository_add(location=str(tmp_path / parent / "torch"), actor=None).slug for parent in "ab"]
    assert slugs == ["torch", "torch-2"]


@pytest.mark.django_db
def test_an_address_keeps_the_parts_of_a_name_apart(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name (fork)"
    folder.mkdir()
    assert repository_add(location=str(folder), actor=None).slug == "owner-name-fork"


def test_a_revision_is_looked_up_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    object_id = commit_files(tmp_path / "tree", {"src/lib.rs": "fn f() {}\n"})
    git_dir = git_repository.git_dir_in(tmp_path / "tree")
    for revision in ("", "main", object_id, object_id[:8]):
        assert git_repository.commit_resolve(git_dir=git_dir, revision=revision).object_id == object_id
    for revision in ("nowhere", "--all", "main:src"):
        with pytest.raises(RevisionUnknownError, match="no revision"):
            git_repository.commit_resolve(git_dir=git_dir, revision=revision)


def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    with pytest.raises(RepositoryNotUsableError, match="no commit yet"):
        git_repository.commit_resolve(git_dir=tmp_path / ".git", revision="")


def test_a_commit_counts_on_the_branch_that_holds_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    first = commit_files(tree, {"src/lib.rs": "fn f() {}\n"})
    subprocess.run(["git", "switch", "--quiet", "-c", "topic"], cwd=tree, check=True)
    second = commit_files(tree, {"src/lib.rs": "fn g() {}\n"})
    subprocess.run(["git", "switch", "--quiet", "main"], cwd=tree, check=True)
    names = [
        git_repository.branch_of(git_dir=tree / ".git", revision=revision, object_id=object_id)
        for revision, object_id in (("", first), (first, first), ("topic", second), (second, second))
    ]
    assert names == ["main", "main", "topic", "topic"]


@pytest.mark.django_db
def test_an_origin_is_cloned_once_and_fetched_after_that(tmp_path: Path, settings: Settings) -> None:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    tree = tmp_path / "tree"
    commit_files(tree, {"src/lib.rs": "fn f() {}\n"})
    repository = repository_add(location=tree.as_uri(), actor=None)
    for body in ("fn g() {}\n", "fn h() {}\n"):
        newest = commit_files(tree, {"src/lib.rs": body})
        git_transfer.repository_fetch(repository=repository)
        git_dir = git_repository.git_dir_of(repository)
        assert git_repository.commit_resolve(git_dir=git_dir, revision="").object_id == newest
    assert {path.name for path in (tmp_path / "clones").iterdir()} == {
        f"{repository.pk}.git",
        f"{repository.pk}.lock",
    }


@pytest.mark.django_db
def test_an_unreachable_origin_is_named_and_leaves_nothing(tmp_path: Path, settings: Settings) -> None:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    repository = repository_add(location=(tmp_path / "gone.git").as_uri(), actor=None)
    with pytest.raises(RepositoryNotUsableError, match=r"gone\.git.*Check the address"):
        git_transfer.repository_fetch(repository=repository)
    assert [path.name for path in (tmp_path / "clones").iterdir()] == [f"{repository.pk}.lock"]


@pytest.mark.django_db
def test_a_clone_that_an_earlier_database_left_is_not_taken_for_this_one(
    tmp_path: Path, settings: Settings
) -> None:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    for name in ("old", "new"):
        newest = commit_files(tmp_path / name, {"src/lib.rs": f"fn {name}() {{}}\n"})
    repository = repository_add(location=(tmp_path / "new").as_uri(), actor=None)
    git_dir = git_repository.git_dir_of(repository)
    subprocess.run(["git", "clone", "--quiet", "--bare", str(tmp_path / "old"), str(git_dir)], check=True)
    git_transfer.repository_fetch(repository=repository)
    assert git_repository.commit_resolve(git_dir=git_dir, revision="").object_id == newest


@pytest.mark.django_db
def test_a_clone_that_a_killed_worker_left_half_made_is_made_again(
    tmp_path: Path, settings: Settings
) -> None:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    commit_files(tmp_path / "tree", {"src/lib.rs": "fn f() {}\n"})
    repository = repository_add(location=(tmp_path / "tree").as_uri(), actor=None)
    (tmp_path / "clones" / f"{repository.pk}.new" / "objects").mkdir(parents=True)
    git_transfer.repository_fetch(repository=repository)
    assert not (tmp_path / "clones" / f"{repository.pk}.new").exists()


@pytest.mark.django_db
def test_a_folder_for_clones_that_cannot_be_written_is_named(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "file").touch()
    settings.REPOSITORIES_DIR = tmp_path / "file" / "clones"
    repository = repository_add(location="file:///srv/torch.git", actor=None)
    with pytest.raises(RepositoryNotUsableError, match=r"file/clones.*can't be written.*REPOSITORIES_DIR"):
        git_transfer.repository_fetch(repository=repository)


def test_a_repository_cannot_name_a_program_that_is_run(tmp_path: Path) -> None:
    tree, trace = tmp_path / "tree", tmp_path / "ran"
    commit_files(tree, {"src/lib.rs": "fn f() {}\n"})
    program = tmp_path / "gpg"
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    program.chmod(0o755)
    commit = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=tree, check=True, capture_output=True)
    head, message = commit.stdout.split(b"\n\n", 1)
    signed = head + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n" + message
    hashed = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=tree, input=signed, check=True, capture_output=True,
    )  # fmt: skip
    for name, value in (("log.showSignature", "true"), ("gpg.program", str(program))):
        subprocess.run(["git", "config", name, value], cwd=tree, check=True)
    git_repository.commit_resolve(git_dir=tree / ".git", revision=hashed.stdout.decode().strip())
    assert not trace.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_a_folder_that_may_not_be_entered_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.is_relative_to(Path(tempfile.gettempdir())) and parent != Path(tempfile.gettempdir()):
            parent.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(RepositoryNotUsableError, match="can't be read: Permission denied"):
            location_read(str(closed))
    finally:
        os.seteuid(0)

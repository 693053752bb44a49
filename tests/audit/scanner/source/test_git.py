"""A commit of a git repository as a source."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.scanner.errors import ScanError
from audit.scanner.source.base import ReadFailure
from audit.scanner.source.git_repository import public_uri
from audit.scanner.source.opening import open_source
from audit.scanner.source.selection import MAX_FILE_BYTES
from tests.audit.scanner.git_fixture import (
    LIB,
    MANIFEST,
    commit_all,
    git,
    make_repository,
    object_file,
    write_tree,
)
from tests.audit.scanner.source.reading import failures, read_all, skipped, texts

OTHER_OWNER = 12345


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo")


def test_a_commit_is_read_and_the_work_tree_is_left_alone(repository: Path) -> None:
    write_tree(repository, {"src/lib.rs": "// edited\n", "src/new.rs": LIB})
    before = git(repository, "status", "--porcelain")
    source = open_source(repository, "HEAD")
    assert texts(source) == {"Cargo.toml": MANIFEST.encode(), "src/lib.rs": LIB.encode()}
    assert git(repository, "status", "--porcelain") == before


def test_the_source_tells_commit_branch_time_and_origin(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://ada:secret@example.org/demo.git")
    info = open_source(repository, "main").info
    assert info.commit_id == git(repository, "rev-parse", "main")
    assert (info.revision, info.branch) == ("main", "main")
    assert info.committed_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert info.repository_uri == "https://example.org/demo.git"


def test_a_commit_id_and_a_tag_name_no_branch(repository: Path) -> None:
    git(repository, "tag", "--annotate", "--message", "First.", "v1")
    commit_id = git(repository, "rev-parse", "HEAD")
    for revision in ("v1", commit_id, commit_id[:8]):
        info = open_source(repository, revision).info
        assert (info.commit_id, info.branch) == (commit_id, "")


def test_a_remote_branch_is_named_without_its_remote(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    assert open_source(tmp_path / "clone", "origin/main").info.branch == "main"


def test_a_bare_repository_is_read_at_head(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    source = open_source(tmp_path / "bare.git")
    assert set(texts(source)) == {"Cargo.toml", "src/lib.rs"}
    assert source.info.branch == "main"


def test_the_git_folder_of_a_work_tree_is_read_at_head(repository: Path) -> None:
    write_tree(repository, {"src/lib.rs": "// edited\n"})
    assert texts(open_source(repository / ".git"))["src/lib.rs"] == LIB.encode()


def test_a_folder_inside_a_repository_is_scanned_alone(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", {"crates/a/src/lib.rs": LIB, "crates/b/src/lib.rs": LIB})
    source = open_source(repository / "crates" / "a", "HEAD")
    assert set(texts(source)) == {"src/lib.rs"}
    assert source.info.path_in_repository == "crates/a"


def test_a_linked_work_tree_is_read(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    write_tree(tmp_path / "side", {"src/side.rs": LIB})
    commit_all(tmp_path / "side")
    source = open_source(tmp_path / "side", "HEAD")
    assert "src/side.rs" in texts(source)
    assert source.info.branch == "side"


def test_a_clone_that_borrows_objects_is_read(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--shared", str(repository), "shared")
    assert set(texts(open_source(tmp_path / "shared", "HEAD"))) == {"Cargo.toml", "src/lib.rs"}


def test_a_shallow_clone_is_read_and_says_why_it_lacks_an_older_commit(
    repository: Path, tmp_path: Path
) -> None:
    old = git(repository, "rev-parse", "HEAD")
    write_tree(repository, {"src/new.rs": LIB})
    commit_all(repository)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    assert "src/new.rs" in texts(open_source(tmp_path / "shallow", "HEAD"))
    with pytest.raises(ScanError, match=r"git fetch --unshallow"):
        open_source(tmp_path / "shallow", old)


def test_a_repository_with_sha256_ids_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    write_tree(folder, {"src/lib.rs": LIB})
    commit_all(folder)
    assert texts(open_source(folder, "HEAD")) == {"src/lib.rs": LIB.encode()}


def test_a_blob_deleted_from_a_copied_repository_is_missing_and_the_rest_is_read(
    repository: Path, tmp_path: Path
) -> None:
    shutil.copytree(repository, tmp_path / "copy")
    write_tree(tmp_path / "copy", {"src/other.rs": "fn other() {}\n"})
    commit_all(tmp_path / "copy")
    object_file(tmp_path / "copy", git(repository, "rev-parse", "HEAD:src/lib.rs")).unlink()
    answers = read_all(open_source(tmp_path / "copy", "HEAD"))
    lost = answers["src/lib.rs"]
    assert isinstance(lost, ReadFailure)
    assert lost.is_missing
    assert "git fetch --refetch" in lost.reason
    assert not isinstance(answers["src/other.rs"], ReadFailure)


def test_a_partial_clone_whose_origin_is_gone_names_what_is_missing(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(
        tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{repository}", "partial"
    )
    shutil.rmtree(repository)
    answers = read_all(open_source(tmp_path / "partial", "HEAD"))
    assert {
        path for path, answer in answers.items() if isinstance(answer, ReadFailure) and answer.is_missing
    } == {
        "Cargo.toml",
        "src/lib.rs",
    }


def test_a_partial_clone_fetches_nothing_although_its_origin_is_there(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(
        tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{repository}", "partial"
    )
    git(tmp_path / "partial", "config", "protocol.file.allow", "always")
    assert len(failures(open_source(tmp_path / "partial", "HEAD"))) == 2


def test_a_clone_without_trees_is_refused_and_runs_nothing_of_its_configuration(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=tree:0", f"file://{repository}", "partial")
    proof = tmp_path / "ran"
    git(tmp_path / "partial", "config", "remote.origin.uploadpack", f"touch {proof}; false")
    with pytest.raises(ScanError, match="git fetch --refetch"):
        open_source(tmp_path / "partial", "HEAD").entries()
    assert not proof.exists()


def test_a_damaged_object_fails_alone(repository: Path) -> None:
    write_tree(repository, {f"src/m{number}.rs": f"fn f{number}() {{}}\n" for number in range(5)})
    commit_all(repository)
    for name in ("m1", "m3"):
        damaged = object_file(repository, git(repository, "rev-parse", f"HEAD:src/{name}.rs"))
        damaged.chmod(0o644)
        damaged.write_bytes(damaged.read_bytes()[:10])
    source = open_source(repository, "HEAD")
    assert set(failures(source)) == {"src/m1.rs", "src/m3.rs"}
    assert texts(source)["src/m4.rs"] == b"fn f4() {}\n"


def test_more_files_than_requests_written_ahead_come_in_order(tmp_path: Path) -> None:
    files = {f"src/m{number:04}.rs": f"// {number}\n" * 50 for number in range(700)}
    repository = make_repository(tmp_path / "repo", files)
    assert texts(open_source(repository, "HEAD")) == {path: text.encode() for path, text in files.items()}


def test_submodules_and_symlinks_are_named_and_not_followed(repository: Path, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    git(repository, "submodule", "--quiet", "add", str(other), "third-party")
    (repository / "src" / "copy.rs").symlink_to("lib.rs")
    (repository / "src" / "out.rs").symlink_to("../../outside.rs")
    (repository / "around").symlink_to("src")
    (repository / "LICENSE").symlink_to("Cargo.toml")
    commit_all(repository)
    assert skipped(open_source(repository, "HEAD")) == {
        "around": "symlink to src",
        "src/copy.rs": "symlink to src/lib.rs",
        "src/out.rs": "symlink out of the tree",
        "third-party": "a git repository of its own (submodule): scan it by itself",
    }


def test_bad_bytes_and_sizes_are_told_as_for_a_folder(repository: Path) -> None:
    write_tree(
        repository,
        {
            "src/latin.rs": b"// caf\xe9\n",
            "src/crlf.rs": b"fn a() {}\r\n",
            "src/huge.rs": b" " * (MAX_FILE_BYTES + 1),
        },
    )
    (repository / os.fsdecode(b"src/caf\xe9.rs")).write_text(LIB)
    commit_all(repository)
    source = open_source(repository, "HEAD")
    assert failures(source) == {"src/latin.rs": "not UTF-8: byte 0xe9 in line 1"}
    assert set(skipped(source)) == {"src/caf\\xe9.rs", "src/huge.rs"}
    assert texts(source)["src/crlf.rs"] == b"fn a() {}\r\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_the_repository_of_another_owner_is_read(repository: Path) -> None:
    for path in (repository, *repository.rglob("*")):
        os.chown(path, OTHER_OWNER, OTHER_OWNER, follow_symlinks=False)
    refused = subprocess.run(
        ("git", "rev-parse", "HEAD"),
        cwd=repository,
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert b"dubious ownership" in refused.stderr
    assert set(texts(open_source(repository, "HEAD"))) == {"Cargo.toml", "src/lib.rs"}


def test_the_callers_git_environment_changes_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other", {"src/other.rs": LIB})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    assert set(texts(open_source(repository, "HEAD"))) == {"Cargo.toml", "src/lib.rs"}


@pytest.mark.parametrize(
    "revision",
    [
        "--help",
        "-h",
        "--output=/tmp/x",
        "--git-dir=/",
        "HEAD\n--help",
        "HEAD..main",
        "HEAD:src",
        ":/",
        "^HEAD",
    ],
)
def test_a_revision_never_becomes_an_option_or_a_range(repository: Path, revision: str) -> None:
    with pytest.raises(ScanError, match=r"is no revision|knows no commit"):
        open_source(repository, revision)


def test_an_unknown_revision_is_refused_with_the_nearest_names(repository: Path) -> None:
    with pytest.raises(ScanError, match=r"knows no commit 'mian'. Did you mean main\?"):
        open_source(repository, "mian")


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "empty")
    with pytest.raises(ScanError, match="has no commit yet"):
        open_source(tmp_path / "empty", "HEAD")
    git(tmp_path, "init", "--quiet", "--bare", "empty.git")
    with pytest.raises(ScanError, match="has no commit yet"):
        open_source(tmp_path / "empty.git")


def test_a_head_without_a_commit_is_refused_with_the_branches(repository: Path) -> None:
    git(repository, "symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(ScanError, match=r"HEAD of .* names no commit: say which with --rev, main"):
        open_source(repository / ".git")


def test_a_repository_without_rust_is_refused(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", {"README.md": "text"})
    with pytest.raises(ScanError, match=r"^Commit .* holds no Rust file"):
        open_source(repository, "HEAD").entries()


def test_a_revision_of_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "plain", {"src/lib.rs": LIB})
    with pytest.raises(ScanError, match="is in no git repository"):
        open_source(tmp_path / "plain", "HEAD")


def test_a_folder_that_the_commit_does_not_hold_is_refused(repository: Path) -> None:
    write_tree(repository, {"later/src/lib.rs": LIB})
    with pytest.raises(ScanError, match=r"does not hold the folder later"):
        open_source(repository / "later", "HEAD").entries()


def test_a_git_file_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "side", {".git": "gitdir: /nowhere/at/all\n", "src/lib.rs": LIB})
    with pytest.raises(ScanError, match="git worktree repair"):
        open_source(tmp_path / "side", "HEAD")
    assert set(texts(open_source(tmp_path / "side"))) == {"src/lib.rs"}


def test_a_machine_without_git_is_told_to_install_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScanError, match="git was not found on PATH"):
        open_source(repository, "HEAD")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ada:secret@example.org/demo.git", "https://example.org/demo.git"),
        ("https://token@example.org:8443/demo?key=1#x", "https://example.org:8443/demo"),
        ("git@example.org:team/demo.git", "ssh://example.org/team/demo.git"),
        ("ssh://git:pw@example.org/demo.git", "ssh://example.org/demo.git"),
        ("/srv/my repo.git", "file:///srv/my%20repo.git"),
        ("https://example.org/a b", "https://example.org/a%20b"),
    ],
)
def test_a_remote_is_shown_as_a_uri_without_credentials(url: str, shown: str) -> None:
    assert public_uri(url) == shown

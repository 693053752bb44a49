"""A folder as a source."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.scanner.errors import ScanError
from audit.scanner.source.base import Content, ReadFailure
from audit.scanner.source.folder import FolderSource, blob_id
from audit.scanner.source.opening import open_source
from audit.scanner.source.selection import MAX_FILE_BYTES
from tests.audit.scanner.git_fixture import LIB, MANIFEST, git, make_repository, write_tree
from tests.audit.scanner.source.reading import failures, read_all, skipped, texts

NOBODY = 65534


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    write_tree(folder, {"Cargo.toml": MANIFEST, "src/lib.rs": LIB})
    return folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every account can enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Run the test without root's rights, when it has them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


def test_the_files_are_listed_in_the_order_of_their_paths(crate: Path) -> None:
    write_tree(
        crate,
        {"src/a.rs": LIB, "kernels/add.ptx": ".version 8.0\n", "README.md": "", "a.txt": "", "z.wgsl": ""},
    )
    paths = [file.path for file in open_source(crate).entries()]
    assert paths == ["Cargo.toml", "README.md", "kernels/add.ptx", "src/a.rs", "src/lib.rs", "z.wgsl"]


def test_a_blob_id_is_the_one_git_computes(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    assert blob_id(LIB.encode()) == git(repository, "rev-parse", "HEAD:src/lib.rs")
    answer = read_all(open_source(repository))["src/lib.rs"]
    assert isinstance(answer, Content)
    assert answer.blob_id == git(repository, "rev-parse", "HEAD:src/lib.rs")


def test_a_work_tree_without_a_revision_is_read_as_it_is_on_disk(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    git(repository, "remote", "add", "origin", "https://ada:secret@example.org/demo.git")
    write_tree(repository, {"src/lib.rs": "// edited\n"})
    source = open_source(repository)
    assert texts(source)["src/lib.rs"] == b"// edited\n"
    assert source.info.commit_id == ""
    assert source.info.branch == "main"
    assert source.info.repository_uri == "https://example.org/demo.git"


def test_a_folder_inside_a_work_tree_knows_where_it_lies(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", {"crates/demo/src/lib.rs": LIB})
    assert open_source(repository / "crates" / "demo").info.path_in_repository == "crates/demo"


def test_a_single_file_is_a_source(crate: Path) -> None:
    assert list(texts(open_source(crate / "src" / "lib.rs"))) == ["lib.rs"]


def test_the_build_output_of_cargo_is_left_out_and_a_module_named_target_is_not(crate: Path) -> None:
    write_tree(crate, {"target/debug/build/out.rs": LIB, "src/target/mod.rs": LIB, ".git/hooks/x.rs": LIB})
    assert [file.path for file in open_source(crate).entries()] == [
        "Cargo.toml",
        "src/lib.rs",
        "src/target/mod.rs",
    ]


def test_symlinks_are_named_and_never_followed(crate: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_tree(outside, {"secret.rs": LIB})
    (crate / "src" / "copy.rs").symlink_to("lib.rs")
    (crate / "src" / "gone.rs").symlink_to("nowhere.rs")
    (crate / "src" / "me.rs").symlink_to("me.rs")
    (crate / "src" / "out.rs").symlink_to(outside / "secret.rs")
    (crate / "src" / "around").symlink_to("..")
    (crate / "vendor").symlink_to(outside)
    (crate / "LICENSE").symlink_to("Cargo.toml")
    source = open_source(crate)
    assert skipped(source) == {
        "src/around": "symlink to .",
        "src/copy.rs": "symlink to src/lib.rs",
        "src/gone.rs": "broken symlink",
        "src/me.rs": "symlink loop",
        "src/out.rs": "symlink out of the tree",
        "vendor": "symlink out of the tree",
    }
    assert set(texts(source)) == {"Cargo.toml", "src/lib.rs"}


def test_a_folder_reached_through_a_symlink_is_scanned(crate: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(crate)
    assert "src/lib.rs" in texts(open_source(tmp_path / "link"))


def test_a_repository_inside_the_tree_is_named_and_not_entered(crate: Path) -> None:
    make_repository(crate / "third-party")
    assert list(skipped(open_source(crate))) == ["third-party"]


def test_a_file_that_is_no_utf8_fails_with_the_place(crate: Path) -> None:
    write_tree(
        crate,
        {
            "src/latin.rs": b"// ok\n// caf\xe9\n",
            "src/nul.rs": b"fn a() {}\n\0\n",
            "src/wide.rs": "fn a() {}".encode("utf-16"),
        },
    )
    assert failures(open_source(crate)) == {
        "src/latin.rs": "not UTF-8: byte 0xe9 in line 2",
        "src/nul.rs": "holds NUL bytes, the first in line 2",
        "src/wide.rs": "UTF-16, not UTF-8",
    }


def test_carriage_returns_reach_the_scanner_unchanged(crate: Path) -> None:
    write_tree(crate, {"src/lib.rs": b"fn a() {}\r\nfn b() {}\r\n"})
    assert texts(open_source(crate))["src/lib.rs"] == b"fn a() {}\r\nfn b() {}\r\n"


def test_a_huge_file_is_skipped_without_reading_it(crate: Path) -> None:
    with (crate / "src" / "huge.rs").open("wb") as file:
        file.truncate(50_000_000)
    assert skipped(open_source(crate)) == {
        "src/huge.rs": f"too large: 50,000,000 bytes, the limit is {MAX_FILE_BYTES:,}"
    }


def test_a_file_that_grew_beyond_the_limit_since_it_was_listed_is_not_kept(crate: Path) -> None:
    source = open_source(crate)
    files = [file for file in source.entries() if file.path == "src/lib.rs"]
    with (crate / "src" / "lib.rs").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    [(_, answer)] = source.read(files)
    assert isinstance(answer, ReadFailure)
    assert answer.reason.startswith("too large")


def test_a_pipe_named_like_a_rust_file_does_not_hang_the_scan(crate: Path) -> None:
    os.mkfifo(crate / "src" / "pipe.rs")
    assert skipped(open_source(crate)) == {"src/pipe.rs": "not a regular file"}


def test_a_name_that_is_no_utf8_is_named_and_skipped(crate: Path) -> None:
    (Path(os.fsdecode(os.fsencode(crate) + b"/src/caf\xe9.rs"))).write_text(LIB)
    assert skipped(open_source(crate)) == {"src/caf\\xe9.rs": "the name is not UTF-8"}


def test_a_file_that_vanishes_after_it_was_listed_fails(crate: Path) -> None:
    source = open_source(crate)
    files = source.entries()
    (crate / "src" / "lib.rs").unlink()
    answers = {file.path: answer for file, answer in source.read(files)}
    assert answers["src/lib.rs"] == ReadFailure("gone since the folder was listed")


def test_a_file_that_becomes_a_symlink_after_it_was_listed_is_not_followed(crate: Path) -> None:
    source = open_source(crate)
    files = source.entries()
    (crate / "src" / "lib.rs").unlink()
    (crate / "src" / "lib.rs").symlink_to("/etc/hostname")
    answers = {file.path: answer for file, answer in source.read(files)}
    assert answers["src/lib.rs"] == ReadFailure("became a symlink since the folder was listed")


def test_a_file_that_changes_while_it_is_read_is_never_half_old_and_half_new(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = crate / "src" / "lib.rs"
    real_read = os.read
    writes = iter(range(100))

    def read_and_append(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        if data == lib.read_bytes():
            lib.write_text(LIB + f"// {next(writes)}\n")
        return data

    monkeypatch.setattr("audit.scanner.source.folder.os.read", read_and_append)
    assert failures(open_source(crate)) == {"src/lib.rs": "changed while it was read, 3 times"}


def test_what_may_not_be_read_is_named_and_the_rest_is_scanned(
    open_folder: Path, request: pytest.FixtureRequest
) -> None:
    write_tree(open_folder, {"src/lib.rs": LIB, "src/secret.rs": LIB, "closed/a.rs": LIB, "listed/b.rs": LIB})
    (open_folder / "src" / "secret.rs").chmod(0)
    (open_folder / "closed").chmod(0)
    (open_folder / "listed").chmod(0o444)
    request.getfixturevalue("as_nobody")
    source = open_source(open_folder)
    assert skipped(source) == {"closed": "permission denied", "listed/b.rs": "permission denied"}
    assert failures(source) == {"src/secret.rs": "permission denied"}
    assert set(texts(source)) == {"src/lib.rs"}


def test_a_closed_folder_is_refused_with_a_clear_line(
    open_folder: Path, request: pytest.FixtureRequest
) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o000)
    request.getfixturevalue("as_nobody")
    with pytest.raises(ScanError, match=r"closed can't be read: permission denied"):
        open_source(closed).entries()


def test_a_folder_without_rust_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path, {"Cargo.toml": MANIFEST, "main.py": ""})
    with pytest.raises(ScanError, match="holds no Rust file"):
        FolderSource(tmp_path).entries()


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("nowhere", "does not exist"),
        ("notes.txt", "is no Rust file"),
        ("demo\0", "NUL byte"),
    ],
)
def test_a_path_that_can_not_be_scanned_is_refused(tmp_path: Path, path: str, complaint: str) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ScanError, match=complaint):
        open_source(tmp_path / path)

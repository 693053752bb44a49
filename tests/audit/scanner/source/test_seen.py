"""What is known of the files of a folder that was listed and read before."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from audit.rules import RULES
from audit.scanner.cache import FactsCache
from audit.scanner.carried import Carried
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import ScanReport
from audit.scanner.source.base import Content
from audit.scanner.source.folder import FolderSource, blob_id
from audit.scanner.source.seen import Seen
from tests.audit.scanner.git_fixture import LIB, MANIFEST, write_tree
from tests.audit.scanner.history_fixture import Files, edited, first_commit
from tests.audit.scanner.test_carried import Counting

_SECOND_NS = 1_000_000_000
OTHER = LIB.replace("a + b", "b + a")


class Clock:
    """A clock that a test sets, a minute behind the files at first."""

    def __init__(self) -> None:
        self.now_ns = time.time_ns() - 60 * _SECOND_NS

    def __call__(self) -> int:
        return self.now_ns

    def pass_an_hour(self) -> None:
        self.now_ns += 3600 * _SECOND_NS


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    write_tree(tmp_path, {"Cargo.toml": MANIFEST, "src/lib.rs": LIB})
    return tmp_path


def read_all(folder: Path, seen: Seen) -> dict[str, str]:
    """Read a folder, and return the blob ids that were known of its files before."""
    source = FolderSource(folder, seen=seen)
    files = source.entries()
    assert all(isinstance(content, Content) for _, content in source.read(files))
    return {file.path: file.blob_id for file in files}


def test_a_file_that_stands_as_it_was_read_is_known_without_reading_it(crate: Path) -> None:
    clock = Clock()
    seen = Seen(clock_ns=clock)
    clock.pass_an_hour()
    assert read_all(crate, seen) == {"Cargo.toml": "", "src/lib.rs": ""}
    assert read_all(crate, seen)["src/lib.rs"] == blob_id(LIB.encode())


def test_a_file_that_was_written_when_it_was_read_is_read_again(crate: Path) -> None:
    clock = Clock()
    seen = Seen(clock_ns=clock)
    for _ in range(3):
        assert read_all(crate, seen)["src/lib.rs"] == ""
    clock.pass_an_hour()
    assert read_all(crate, seen)["src/lib.rs"] == ""
    assert read_all(crate, seen)["src/lib.rs"] == blob_id(LIB.encode())


@pytest.mark.parametrize("change", ["size", "times", "inode", "mode"])
def test_a_file_is_not_known_when_anything_of_its_stamp_is_another(crate: Path, change: str) -> None:
    clock = Clock()
    seen = Seen(clock_ns=clock)
    clock.pass_an_hour()
    read_all(crate, seen)
    lib = crate / "src" / "lib.rs"
    before = lib.stat()
    if change == "size":
        lib.write_text(LIB + "\n")
        os.utime(lib, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "times":
        os.utime(lib, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif change == "inode":
        lib.rename(crate / "old")
        lib.write_text(OTHER)
        os.utime(lib, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        lib.chmod(0o755)
    assert read_all(crate, seen)["src/lib.rs"] == ""


def test_a_file_that_was_written_again_under_the_same_stamp_is_noticed(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    seen = Seen(clock_ns=clock)
    source = FolderSource(crate, seen=seen)
    list(source.read(source.entries()))
    stamps = seen.stamps()
    lib = crate / "src" / "lib.rs"
    lib.write_text(OTHER)
    # A file system whose times are as coarse as that.
    monkeypatch.setattr("audit.scanner.source.seen.stamp_at", lambda path: stamps[str(path)])
    assert not source.has_changed()
    clock.pass_an_hour()
    assert source.has_changed()


def test_a_file_whose_stamp_told_nothing_is_asked_for_once(crate: Path) -> None:
    clock = Clock()
    seen = Seen(clock_ns=clock)
    source = FolderSource(crate, seen=seen)
    list(source.read(source.entries()))
    clock.pass_an_hour()
    assert not source.has_changed()
    assert list(seen.doubtful()) == []
    assert read_all(crate, seen)["src/lib.rs"] == blob_id(LIB.encode())


@pytest.mark.parametrize("change", ["edit", "add", "delete", "folder", "profile"])
def test_what_stands_otherwise_than_it_was_listed_is_noticed(
    crate: Path, tmp_path_factory: pytest.TempPathFactory, change: str
) -> None:
    profile = tmp_path_factory.mktemp("elsewhere") / "profile.toml"
    profile.write_text("")
    source = FolderSource(crate, seen=Seen(profile))
    source.entries()
    assert not source.has_changed()
    if change == "edit":
        (crate / "src" / "lib.rs").write_text(LIB + "\n")
    elif change == "add":
        (crate / "src" / "more.rs").write_text(LIB)
    elif change == "delete":
        (crate / "src" / "lib.rs").unlink()
    elif change == "folder":
        (crate / "more").mkdir()
    else:
        profile.write_text("# more")
    assert source.has_changed()


def test_over_a_history_on_disk_every_report_is_that_of_a_scan_alone(tmp_path: Path) -> None:
    clock = Clock()
    random, cache, carried, seen = Random(7), Counting(), Carried(), Seen(clock_ns=clock)
    clock.pass_an_hour()
    files = first_commit()
    known = 0
    for number in range(30):
        put(tmp_path, files)
        source = FolderSource(tmp_path, seen=seen)
        known += sum(bool(file.blob_id) for file in source.entries())
        assert scanned(source, cache, carried) == scanned(FolderSource(tmp_path), cache, None)
        _, files = edited(files, random, number)
    assert known > 20 * len(files)


def put(folder: Path, files: Files) -> None:
    """Make a folder hold these files, and touch none that is as it was."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            write_tree(folder, {name: text})


def scanned(source: FolderSource, cache: FactsCache, carried: Carried | None) -> ScanReport:
    report = scan(source, profile=load_profile("ferrotorch"), rules=RULES, cache=cache, carried=carried)
    return replace(report, duration_seconds=0.0)

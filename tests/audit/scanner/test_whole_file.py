"""A file that is replaced is the old one or the new one, whatever happens meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.scanner.whole_file import file_replace


def test_the_parts_stand_one_behind_the_other_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"before")
    file_replace(path, (b"one ", memoryview(b"two")), prefix=".")
    assert path.read_bytes() == b"one two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_nobody_else_may_read_it_unless_it_is_said(tmp_path: Path) -> None:
    file_replace(tmp_path / "own", (b"",), prefix=".")
    file_replace(tmp_path / "shared", (b"",), prefix=".", mode=0o644, is_synced=True)
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o644


def test_what_fails_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError("the disk is full")

    path = tmp_path / "kept"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match="full"):
        file_replace(path, parts(), prefix="tmp")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["kept"]  # noqa: PTH208

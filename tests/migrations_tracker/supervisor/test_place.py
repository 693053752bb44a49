"""Where data go: inside the project, unless the servers' account cannot get there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.memory import Memory
from migrations_tracker.supervisor.place import choose_place, make_var
from migrations_tracker.supervisor.up import keep_details
from tests.migrations_tracker.supervisor.conftest import only_as_root


@pytest.fixture
def clone(open_dir: Path) -> Iterator[Path]:
    folder = open_dir / "clone"
    folder.mkdir(mode=0o755)
    yield folder
    folder.chmod(0o755)


def test_data_lie_in_the_project_where_that_is_possible(clone: Path) -> None:
    make_var(clone / "var")
    place = choose_place(clone / "var", Memory(clone / "var" / "memory.json"))
    assert place.state == clone / "var"
    assert not place.is_outside(clone / "var")


def test_only_its_owner_can_look_into_the_folder_unless_that_is_root(clone: Path) -> None:
    (clone / "var").mkdir(mode=0o750)
    make_var(clone / "var")
    assert stat.S_IMODE((clone / "var").stat().st_mode) == (0o755 if os.geteuid() == 0 else 0o700)


def test_a_folder_that_cannot_be_made_is_named(clone: Path) -> None:
    (clone / "var").touch()
    (clone / "log").touch()
    with pytest.raises(SupervisorError, match=r"var`.* can't be made: File exists"):
        make_var(clone / "var")
    with pytest.raises(SupervisorError, match="can't be made: Not a directory"):
        make_var(clone / "log" / "var")


def test_details_that_cannot_be_written_down_are_shown(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    try:
        raise OSError("no space left")
    except OSError:
        told = keep_details(tmp_path)
    assert "OSError: no space left" in told


@only_as_root
def test_data_of_a_closed_clone_lie_outside_and_the_clone_stays_closed(clone: Path, open_dir: Path) -> None:
    clone.chmod(0o700)
    make_var(clone / "var")
    outside = open_dir / "lib"
    outside.mkdir(mode=0o755)

    place = choose_place(clone / "var", Memory(clone / "var" / "memory.json"), outside=(outside,))

    assert place.state.parent == outside
    assert place.is_outside(clone / "var")
    assert stat.S_IMODE(clone.stat().st_mode) == 0o700


@only_as_root
def test_data_stay_where_they_were_when_the_clone_is_opened_later(clone: Path, open_dir: Path) -> None:
    clone.chmod(0o700)
    make_var(clone / "var")
    memory = Memory(clone / "var" / "memory.json")
    first = choose_place(clone / "var", memory, outside=(open_dir,))
    clone.chmod(0o755)
    assert choose_place(clone / "var", Memory(clone / "var" / "memory.json"), outside=()) == first


@only_as_root
def test_data_in_a_clone_that_was_closed_later_are_not_replaced_by_empty_ones(
    clone: Path, open_dir: Path
) -> None:
    make_var(clone / "var")
    memory = Memory(clone / "var" / "memory.json")
    choose_place(clone / "var", memory, outside=(open_dir,))
    clone.chmod(0o700)
    with pytest.raises(SupervisorError, match="can no longer enter"):
        choose_place(clone / "var", memory, outside=(open_dir,))


@only_as_root
def test_a_folder_that_somebody_else_put_there_is_not_used(clone: Path, open_dir: Path) -> None:
    clone.chmod(0o700)
    make_var(clone / "var")
    trap, safe = open_dir / "trap", open_dir / "safe"
    for folder in (trap, safe):
        folder.mkdir(mode=0o755)
    expected = choose_place(clone / "var", Memory(open_dir / "a.json"), outside=(safe,)).state.name
    (trap / expected).mkdir()
    os.chown(trap / expected, 65534, 65534)
    place = choose_place(clone / "var", Memory(open_dir / "b.json"), outside=(trap, safe))
    assert place.state.parent == safe


@only_as_root
def test_another_persons_data_folder_is_refused_by_name(clone: Path) -> None:
    make_var(clone / "var")
    os.chown(clone / "var", 65534, 65534)
    with pytest.raises(SupervisorError, match="belongs to `nobody`"):
        make_var(clone / "var")

"""Memory, lock, options and ports."""

from __future__ import annotations

import multiprocessing
import socket
import stat
from pathlib import Path

import pytest

from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.lock import only_one
from migrations_tracker.supervisor.memory import Memory
from migrations_tracker.supervisor.options import Options, parse
from migrations_tracker.supervisor.ports import LOOPBACK, free_port, is_free


def test_a_port_is_remembered_by_the_next_run(tmp_path: Path) -> None:
    Memory(tmp_path / "memory.json").keep_port("web", 8123)
    assert Memory(tmp_path / "memory.json").port("web", 8000) == 8123
    assert stat.S_IMODE((tmp_path / "memory.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"port_web": "many"}'])
def test_a_broken_memory_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "memory.json").write_text(content)
    assert Memory(tmp_path / "memory.json").port("web", 8000) == 8000


def _hold(file: Path, ready: object, release: object) -> None:
    with only_one(file):
        ready.set()  # type: ignore[attr-defined]
        release.wait()  # type: ignore[attr-defined]


def test_a_second_supervisor_is_told_who_the_first_is(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(tmp_path / "lock", ready, release))
    first.start()
    try:
        assert ready.wait(20)
        with (
            pytest.raises(SupervisorError, match=f"already \\(process {first.pid}\\)"),
            only_one(tmp_path / "lock"),
        ):
            pass
    finally:
        release.set()
        first.join()


def test_a_supervisor_that_was_killed_holds_no_lock(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(tmp_path / "lock", ready, release))
    first.start()
    assert ready.wait(20)
    first.kill()
    first.join()
    with only_one(tmp_path / "lock"):
        assert (tmp_path / "lock").read_text() != str(first.pid)


def test_everything_has_a_default() -> None:
    assert parse([]) == Options(repository="", revision="", port=0, resets_administrator=False)


def test_a_revision_alone_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as failure:
        parse(["--rev", "main"])
    assert failure.value.code == 2
    assert "--rev says nothing without --repo" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "8000.5"])
def test_a_port_is_a_number_in_range(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([f"--port={port}"])
    assert "is no port" in capsys.readouterr().err


def test_a_port_that_something_listens_on_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_a_port_that_something_listens_on_on_every_address_is_not_free() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - that is what is tested
        assert not is_free(server.getsockname()[1])


def test_a_free_port_is_free() -> None:
    assert is_free(free_port())

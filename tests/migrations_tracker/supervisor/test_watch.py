"""The watch over programs: their lines, their deaths, and the end of all that they started."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from migrations_tracker.supervisor.child import is_running
from migrations_tracker.supervisor.console import Console
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.valkey import Valkey
from migrations_tracker.supervisor.watch import RESTARTS, Program, Watch


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def watch(screen: io.StringIO, tmp_path: Path) -> Iterator[Watch]:
    watch = Watch(Console(screen), folder=tmp_path, environment=os.environ)
    yield watch
    watch.kill()


def shell(name: str, script: str, patience_seconds: float = 5) -> Program:
    return Program(name, ("/bin/sh", "-c", script), patience_seconds)


def until(condition: Callable[[], bool], turn: Callable[[], None] = lambda: time.sleep(0.02)) -> bool:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if condition():
            return True
        turn()
    return False


def pump(watch: Watch) -> Callable[[], None]:
    return lambda: watch.pump(0.05)


def test_each_line_stands_behind_the_name_of_its_program(watch: Watch, screen: io.StringIO) -> None:
    watch.start(shell("web", "echo hello; echo oops >&2; exec sleep 60"))
    watch.start(shell("worker", "echo world; exec sleep 60"))
    assert until(lambda: screen.getvalue().count("|") == 3, pump(watch))
    lines = screen.getvalue().splitlines()
    assert {"web     | hello", "web     | oops", "worker  | world"} == set(lines)


def test_a_line_without_an_end_is_shown_when_the_program_ends(
    watch: Watch, screen: io.StringIO, tmp_path: Path
) -> None:
    watch.start(shell("web", "printf 'last words'; : > said; exec sleep 60"))
    assert until((tmp_path / "said").exists)
    watch.pump(0.05)
    watch.stop()
    assert "web     | last words" in screen.getvalue()


def test_a_program_that_dies_is_started_again(watch: Watch, screen: io.StringIO) -> None:
    watch.start(shell("web", "exec sleep 60"))
    first = watch.pids["web"]
    os.kill(first, signal.SIGKILL)
    assert until(lambda: watch.pids["web"] != first, pump(watch))
    assert "web ended with signal SIGKILL; starting it again (1 of 5)" in screen.getvalue()
    assert watch.is_running("web")


def test_a_program_that_dies_again_and_again_ends_the_run(watch: Watch, screen: io.StringIO) -> None:
    watch.start(shell("web", "echo broken; exit 3"))
    with pytest.raises(SupervisorError, match="web ended with exit code 3, for the 6th time"):
        until(lambda: False, pump(watch))
    assert screen.getvalue().count("starting it again") == RESTARTS
    assert "web     | broken" in screen.getvalue()


def test_stop_asks_first(watch: Watch, screen: io.StringIO) -> None:
    watch.start(shell("web", "trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done"))
    assert until(lambda: "up" in screen.getvalue(), pump(watch))
    watch.stop()
    assert "web     | tidied" in screen.getvalue()
    assert "killed" not in screen.getvalue()


def test_what_a_program_wrote_since_the_last_look_is_shown(
    watch: Watch, screen: io.StringIO, tmp_path: Path
) -> None:
    watch.start(shell("web", "echo one; echo two; : > said; exec sleep 60"))
    assert until((tmp_path / "said").exists)
    watch.kill()
    assert screen.getvalue().splitlines() == ["web     | one", "web     | two"]


def test_stop_kills_what_does_not_obey(watch: Watch, screen: io.StringIO) -> None:
    watch.start(shell("web", "trap '' TERM; echo up; while :; do sleep 0.05; done", patience_seconds=0.3))
    assert until(lambda: "up" in screen.getvalue(), pump(watch))
    pid = watch.pids["web"]
    watch.stop()
    assert "web did not end in time: killed" in screen.getvalue()
    assert not is_running(pid)


def test_stop_ends_what_the_programs_started_too(watch: Watch, tmp_path: Path) -> None:
    watch.start(
        shell("worker", "sleep 600 & echo $! > child; trap 'exit 0' TERM; while :; do sleep 0.05; done")
    )
    note = tmp_path / "child"
    assert until(lambda: note.exists() and note.read_text().strip() != "")
    grandchild = int(note.read_text())
    watch.stop()
    assert until(lambda: not is_running(grandchild))


def test_somebody_in_a_hurry_does_not_wait(screen: io.StringIO, tmp_path: Path) -> None:
    watch = Watch(Console(screen), folder=tmp_path, environment=os.environ, hurries=lambda: True)
    watch.start(shell("web", "trap '' TERM; echo up; while :; do sleep 0.05; done", patience_seconds=3600))
    assert until(lambda: "up" in screen.getvalue(), pump(watch))
    watch.stop()
    assert "killed" in screen.getvalue()


def test_a_server_that_is_killed_is_started_again_where_it_was(
    watch: Watch, screen: io.StringIO, make_valkey: Callable[..., Valkey]
) -> None:
    server = make_valkey()
    server.start()
    watch.guard("broker", server)
    before = (server.process, server.url())
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    assert until(lambda: server.process is not before[0], pump(watch))
    assert server.url() == before[1]
    with redis.Redis.from_url(server.url()) as client:
        assert client.ping()
    assert "broker ended with signal SIGKILL; starting it again" in screen.getvalue()


def test_programs_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from migrations_tracker.supervisor.console import Console
from migrations_tracker.supervisor.valkey import Valkey
from migrations_tracker.supervisor.watch import Program, Watch
watch = Watch(Console(sys.stderr), folder=Path({str(tmp_path)!r}), environment=os.environ)
watch.start(Program("web", ("/bin/sleep", "600")))
print(watch.pids["web"], flush=True)
while True:
    watch.pump(0.1)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert is_running(pid)
        supervisor.kill()
    assert until(lambda: not is_running(pid))

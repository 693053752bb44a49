"""The embedded PostgreSQL: who may talk to it, and that nothing is lost when it is killed."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from migrations_tracker.supervisor import binaries
from migrations_tracker.supervisor.account import Account
from migrations_tracker.supervisor.binaries import DEBIAN_POSTGRES, major_version
from migrations_tracker.supervisor.child import is_running
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.ports import LOOPBACK
from migrations_tracker.supervisor.postgres import Postgres

MakePostgres = Callable[..., Postgres]


def write_row(server: Postgres) -> None:
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('still here')")


def read_row(server: Postgres) -> str:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT word FROM kept").fetchone()
    assert row is not None
    return str(row[0])


def test_it_wants_the_password(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    server.start()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url().replace(server.password, "guessed"))


def test_it_listens_on_the_loopback_address_only(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    server.start()
    with psycopg.connect(server.url()) as connection:
        addresses = connection.execute("SHOW listen_addresses").fetchone()
        sockets = connection.execute("SHOW unix_socket_directories").fetchone()
    assert addresses == (LOOPBACK,)
    assert sockets == ("",)


def test_only_its_account_can_read_password_and_data(
    make_postgres: MakePostgres, account: Account | None
) -> None:
    server = make_postgres()
    owner = os.geteuid() if account is None else account.uid
    for path, mode in ((server.folder, 0o700), (server.folder / "password", 0o600), (server.data, 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.stat().st_uid == owner


def test_data_are_kept_when_the_server_is_killed(make_postgres: MakePostgres) -> None:
    server = make_postgres(options=())
    server.start()
    write_row(server)
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)

    after = make_postgres()
    after.start()

    assert read_row(after) == "still here"


def test_the_same_server_starts_again_on_the_same_port(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    server.start()
    port = server.port
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()

    server.start()

    assert server.port == port


def test_a_process_number_left_behind_that_means_another_program_is_no_obstacle(
    make_postgres: MakePostgres, account: Account | None
) -> None:
    server = make_postgres()
    lock = server.data / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{server.data}\n")
    if account is not None:
        account.own(lock)

    server.start()

    assert is_running(os.getpid())
    assert server.process is not None and server.process.poll() is None


def test_a_server_that_outlived_its_supervisor_is_ended_first(make_postgres: MakePostgres) -> None:
    orphan = make_postgres()
    orphan.start()
    write_row(orphan)
    assert orphan.process is not None

    after = make_postgres()
    after.start()

    assert orphan.process.wait(10) is not None
    assert read_row(after) == "still here"


def test_an_orphan_that_is_waited_for_at_once_is_ended_too(make_postgres: MakePostgres) -> None:
    orphan = make_postgres()
    orphan.start()
    assert orphan.process is not None
    # As init does: its number is nobody's as soon as it has ended.
    waiting = threading.Thread(target=orphan.process.wait)
    waiting.start()

    after = make_postgres()
    after.start()

    waiting.join()
    assert after.process is not None and after.process.poll() is None


def test_a_taken_port_is_left_to_its_owner(make_postgres: MakePostgres) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        taken = other.getsockname()[1]
        server = make_postgres(port=taken)
        server.start()
        assert server.port != taken
        with psycopg.connect(server.url()) as connection:
            assert connection.info.port == server.port


def test_a_clean_stop_leaves_no_process_and_no_lock(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    server.start()
    assert server.process is not None
    pid = server.process.pid
    server.stop()
    assert not is_running(pid)
    assert not (server.data / "postmaster.pid").exists()


def test_a_creation_that_was_interrupted_is_done_again(make_postgres: MakePostgres, open_dir: Path) -> None:
    half_made = open_dir / "postgres" / "data.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")

    server = make_postgres()
    server.start()

    assert not half_made.exists()
    assert server.is_made()


def test_a_lost_password_is_named_as_the_reason(make_postgres: MakePostgres, account: Account | None) -> None:
    server = make_postgres()
    (server.folder / "password").write_text("another")
    with pytest.raises(SupervisorError, match="refuses the password"):
        server.start()


def test_data_of_another_version_are_left_alone(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    (server.data / "PG_VERSION").write_text("14\n")
    with pytest.raises(SupervisorError, match="are of PostgreSQL 14"):
        make_postgres()


def test_a_server_that_cannot_start_shows_its_log(make_postgres: MakePostgres) -> None:
    server = make_postgres(options=("-c", "shared_buffers=nonsense"))
    with pytest.raises(SupervisorError, match="shared_buffers"):
        server.start()


def test_the_server_ends_when_the_process_that_started_it_is_killed(
    open_dir: Path, services_dir: Path
) -> None:
    script = f"""
import signal, sys
from pathlib import Path
from migrations_tracker.supervisor.account import service_account
from migrations_tracker.supervisor.binaries import postgres_binaries
from migrations_tracker.supervisor.postgres import Postgres
account = service_account()
folder = Path({str(open_dir)!r})
binaries = postgres_binaries(account, Path({str(services_dir)!r}))
server = Postgres(folder=folder / "postgres", binaries=binaries, account=account, log=folder / "log")
server.make(); server.start(); print(server.process.pid, flush=True); signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    assert ends(pid)


@pytest.mark.parametrize(
    ("answer", "major"),
    [
        ("postgres (PostgreSQL) 18.6\n", 18),
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15),
        ("postgres (PostgreSQL) 19beta1", 19),
    ],
)
def test_the_version_is_read_whatever_a_distribution_adds(answer: str, major: int) -> None:
    assert major_version(answer) == major


def test_an_answer_without_a_version_is_an_error() -> None:
    with pytest.raises(SupervisorError, match="names no version"):
        major_version("segmentation fault")


@pytest.mark.skipif(
    not list(DEBIAN_POSTGRES.glob("*/bin/initdb")), reason="Debian's PostgreSQL is not installed"
)
def test_the_servers_of_the_system_serve_too(
    make_postgres: MakePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "package_folder", lambda package: None)
    server = make_postgres()
    assert server.binaries.is_relative_to(DEBIAN_POSTGRES)
    server.start()
    write_row(server)
    assert read_row(server) == "still here"


def ends(pid: int, patience_seconds: float = 10) -> bool:
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False

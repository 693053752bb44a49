"""The embedded broker: who may talk to it, and what becomes of its messages."""

from __future__ import annotations

import signal
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.ports import LOOPBACK
from migrations_tracker.supervisor.valkey import APPEND_ONLY_FOLDER, Valkey

MakeValkey = Callable[..., Valkey]


def test_it_wants_the_password(make_valkey: MakeValkey) -> None:
    server = make_valkey()
    server.start()
    with redis.Redis(port=server.port) as client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()


def test_the_password_stands_in_no_list_of_processes(make_valkey: MakeValkey) -> None:
    server = make_valkey()
    server.start()
    assert server.process is not None
    assert server.password not in Path(f"/proc/{server.process.pid}/cmdline").read_text()
    for name in ("password", "server.conf"):
        assert stat.S_IMODE((server.folder / name).stat().st_mode) == 0o600


def test_messages_are_kept_over_a_restart(make_valkey: MakeValkey) -> None:
    server = make_valkey()
    server.start()
    with redis.Redis.from_url(server.url()) as client:
        client.rpush("scan", "a message")
    server.stop()

    after = make_valkey()
    after.start()

    with redis.Redis.from_url(after.url()) as client:
        assert client.lrange("scan", 0, -1) == [b"a message"]


def test_messages_older_than_a_second_are_kept_when_it_is_killed(make_valkey: MakeValkey) -> None:
    server = make_valkey()
    server.start()
    with redis.Redis.from_url(server.url()) as client:
        client.rpush("scan", "a message")
        time.sleep(1.5)  # the file is written once a second, which is what is tested
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()

    server.start()

    with redis.Redis.from_url(server.url()) as client:
        assert client.lrange("scan", 0, -1) == [b"a message"]


def test_broken_messages_are_put_aside_and_not_deleted(make_valkey: MakeValkey) -> None:
    server = make_valkey()
    server.start()
    server.stop()
    for file in (server.folder / APPEND_ONLY_FOLDER).glob("*.manifest"):
        file.write_text("this is no manifest\n")

    server.start()

    assert list(server.folder.glob(f"{APPEND_ONLY_FOLDER}.broken-*"))
    with redis.Redis.from_url(server.url()) as client:
        assert client.ping()


def test_a_taken_port_is_left_to_its_owner(make_valkey: MakeValkey) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        taken = other.getsockname()[1]
        server = make_valkey(port=taken)
        server.start()
        assert server.port != taken


def test_a_server_that_cannot_start_shows_its_log(make_valkey: MakeValkey, open_dir: Path) -> None:
    server = make_valkey()
    server.binary = Path("/bin/false")
    with pytest.raises(SupervisorError, match="does not start"):
        server.start()

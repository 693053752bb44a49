"""Fixtures for tests that start servers: folders that their account can enter, and makers of servers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from migrations_tracker.supervisor.account import Account, service_account
from migrations_tracker.supervisor.binaries import postgres_binaries, valkey_binary
from migrations_tracker.supervisor.postgres import UNSAFE_BUT_FAST, Postgres
from migrations_tracker.supervisor.valkey import Valkey

only_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change to another account")


@pytest.fixture
def account() -> Account | None:
    return service_account()


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """Give a folder that every account can enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="ferroaudit-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_postgres(
    open_dir: Path, services_dir: Path, account: Account | None
) -> Iterator[Callable[..., Postgres]]:
    """Give a maker of servers over one cluster in `open_dir`; every one is ended with the test."""
    made: list[Postgres] = []

    def make(*, port: int = 0, options: tuple[str, ...] = UNSAFE_BUT_FAST) -> Postgres:
        server = Postgres(
            folder=open_dir / "postgres",
            binaries=postgres_binaries(account, services_dir),
            account=account,
            log=open_dir / "postgres.log",
            port=port,
            options=options,
        )
        made.append(server)
        server.make()
        return server

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def make_valkey(
    open_dir: Path, services_dir: Path, account: Account | None
) -> Iterator[Callable[..., Valkey]]:
    """Give a maker of brokers over one folder in `open_dir`; every one is ended with the test."""
    made: list[Valkey] = []

    def make(*, port: int = 0) -> Valkey:
        server = Valkey(
            folder=open_dir / "valkey",
            binary=valkey_binary(account, services_dir),
            account=account,
            log=open_dir / "valkey.log",
            port=port,
        )
        made.append(server)
        server.make()
        return server

    yield make
    for server in made:
        server.stop()

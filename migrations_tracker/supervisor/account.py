"""The account that embedded services run as: PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from migrations_tracker.supervisor.errors import SupervisorError

UNPRIVILEGED_NAMES = ("nobody", "postgres", "daemon")


@dataclass(frozen=True, slots=True)
class Account:
    """A system account that services are switched to when the supervisor itself runs as root."""

    name: str
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Give one file or folder to this account."""
        os.chown(path, self.uid, self.gid)


def service_account() -> Account | None:
    """Return the account to switch to, or None where the supervisor is an ordinary user already."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED_NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise SupervisorError(
        f"PostgreSQL does not run as root, and no account {', '.join(UNPRIVILEGED_NAMES)} exists. "
        "Run as an ordinary user, or set DATABASE_URL and BROKER_URL."
    )


def run_as(
    account: Account | None, command: list[str], *, timeout_seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end under the account, with a minimal environment and its output captured."""
    return subprocess.run(
        command,
        cwd="/",
        env=service_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout_seconds,
        check=False,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    )


def service_environment() -> dict[str, str]:
    """Return the environment of an embedded service: nothing of the caller's but the search path."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", "HOME": "/"}


def may_enter(account: Account | None, folder: Path) -> bool:
    """Tell whether the account can reach a folder through all of its parents."""
    if account is None:
        return os.access(folder, os.X_OK)
    return run_as(account, ["/bin/sh", "-c", 'cd -- "$0"', str(folder)]).returncode == 0


def may_run(account: Account | None, program: Path) -> bool:
    """Tell whether the account can start a program and the program answers `--version`."""
    try:
        return run_as(account, [str(program), "--version"]).returncode == 0
    except OSError:
        return False


def which(name: str) -> Path | None:
    """Return the program of that name on the search path."""
    found = shutil.which(name)
    return Path(found) if found else None

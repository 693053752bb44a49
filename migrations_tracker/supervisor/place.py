"""Where the embedded services keep their data, and the account they run as."""

from __future__ import annotations

import hashlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from migrations_tracker.supervisor.account import Account, may_enter, service_account
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.memory import Memory

OUTSIDE = (Path("/var/lib"), Path("/var/tmp"))  # noqa: S108 - the name is fixed so that a later run finds the data


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for the data of the services, and the account that owns them."""

    state: Path
    account: Account | None

    def is_outside(self, var: Path) -> bool:
        """Tell whether the data lie outside the project's own folder."""
        return not self.state.is_relative_to(var)


def make_var(var: Path) -> None:
    """Create the folder for everything that a local run writes, or say why it cannot be written to."""
    try:
        var.mkdir(exist_ok=True)
        owner = var.stat().st_uid
    except OSError as error:
        raise SupervisorError(
            f"`{var}`, where everything of a local run lies, can't be made: {error.strerror}. "
            "Put the clone where it can be written, or move what has that name away."
        ) from error
    if owner != os.geteuid():
        name = _account_name(owner)
        raise SupervisorError(
            f"`{var}` belongs to {name}, and this is {_account_name(os.geteuid())}. "
            f"Run this as {name}, or move that folder away to begin with an empty database."
        )
    # As root the services' account has to pass through; an ordinary user keeps the folder to himself.
    var.chmod(0o755 if owner == 0 else 0o700)


def choose_place(var: Path, memory: Memory, *, outside: tuple[Path, ...] = OUTSIDE) -> Place:
    """Choose where the services' data lie: inside the project, unless their account cannot get there."""
    account = service_account()
    remembered = memory.state_dir
    if remembered is not None and remembered.is_dir():
        if may_enter(account, remembered):
            return Place(remembered, account)
        raise SupervisorError(
            f"The data are in `{remembered}`, which their account can no longer enter. "
            "Give its parent folders the mode that they had, or move it away to begin with an empty database."
        )
    state = var if may_enter(account, var) else _outside_folder(var, account, outside)
    memory.state_dir = state
    return Place(state, account)


def _outside_folder(var: Path, account: Account | None, outside: tuple[Path, ...]) -> Path:
    name = f"ferroaudit-{hashlib.sha256(str(var.resolve().parent).encode()).hexdigest()[:12]}"
    for parent in outside:
        folder = parent / name
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            continue
        # In a folder that all may write to, somebody else may have put a folder of that name there first.
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            continue
        folder.chmod(0o755)
        if may_enter(account, folder):
            return folder
    places = " and ".join(f"`{parent}`" for parent in outside)
    raise SupervisorError(
        f"The servers do not run as root, their account cannot enter `{var}`, and {places} took no folder. "
        "Put the clone where other accounts may enter, or run as an ordinary user."
    )


def _account_name(uid: int) -> str:
    try:
        return f"`{pwd.getpwuid(uid).pw_name}`"
    except KeyError:
        return f"the account number {uid}"

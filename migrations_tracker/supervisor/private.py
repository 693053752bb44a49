"""Files and folders that only one account can read."""

from __future__ import annotations

import os
from pathlib import Path

from migrations_tracker.supervisor.account import Account


def make_private_folder(folder: Path, account: Account | None) -> None:
    """Create a folder that only the account can enter."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    if account is not None:
        account.own(folder)


def write_private(path: Path, text: str, account: Account | None = None) -> None:
    """Write a file that only its owner can read, also while it is being written."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    if account is not None:
        account.own(unfinished)
    unfinished.rename(path)

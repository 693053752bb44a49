"""Files that are whole or not there.

Not by `tempfile`: that loads what a scan needs nothing else of, for a twentieth of the time until it starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_RANDOM_BYTES = 4
_MODE = 0o600
# What is there already, a link too, is not opened.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def file_replace(
    path: Path,
    parts: Iterable[bytes | memoryview],
    *,
    prefix: str,
    mode: int = _MODE,
    is_synced: bool = False,
) -> None:
    """Write a file beside its place, under a name that begins with `prefix`, and move it there.

    With `is_synced` it is on the disk before it is in its place. Raises `OSError`, and leaves what was there
    as it was.
    """
    temporary = path.parent / f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}"
    descriptor = os.open(temporary, _NEW, _MODE)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.writelines(parts)
            if is_synced:
                file.flush()
                os.fsync(descriptor)
        if mode != _MODE:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""What a folder looked like when it was last listed and read, and whether it still looks so.

A file is told by its stamp, as git's index tells it: times, size and inode. A file that was written within
the grain of a time stamp before it was read may have been written again under the same stamp: such a stamp
tells nothing until it is old and the file has been read once more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# The coarsest time stamps that file systems write.
_GRAIN_NS = 2_000_000_000


class Stamp(NamedTuple):
    """What tells a file, or a folder, from what stood there before."""

    modified_ns: int
    changed_ns: int
    size_bytes: int
    inode: int
    mode: int

    @property
    def newest_ns(self) -> int:
        """The last time at which something was written, as far as the stamp tells."""
        return max(self.modified_ns, self.changed_ns)


class _Read(NamedTuple):
    stamp: Stamp
    blob_id: str
    read_ns: int

    @property
    def is_safe(self) -> bool:
        """Whether nothing can have been written under this stamp after the file was read."""
        return self.stamp.newest_ns + _GRAIN_NS < self.read_ns


Stamps = dict[str, Stamp | None]


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of what was looked at."""
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def stamp_at(path: str | Path) -> Stamp | None:
    """Return the stamp of what stands at a path, links not followed; None where nothing can be seen."""
    try:
        return stamp_of(os.lstat(path))
    except (OSError, ValueError):
        return None


class Seen:
    """The stamps of one folder: those of its last listing, and those under which files were read.

    All are known by their whole paths. `others` are files elsewhere that a scan depends on.
    """

    def __init__(self, *others: Path, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._others = others
        self._clock_ns = clock_ns
        self._read: dict[str, _Read] = {}
        self.folders: Stamps = {}
        self.files: Stamps = {}

    def begin(self) -> None:
        """Forget the last listing: another one comes."""
        self.folders = {}
        self.files = {str(path): stamp_at(path) for path in self._others}

    def read(self, path: str, status: os.stat_result, blob_id: str) -> None:
        """Note what a file held; `status` is from before it was read."""
        self._read[path] = _Read(stamp_of(status), blob_id, self._clock_ns())

    def blob_id(self, path: str) -> str:
        """Return the blob id of a listed file that stands as it was read; empty where that can't be told."""
        known = self._read.get(path)
        if known is None or not known.is_safe or known.stamp != self.files.get(path):
            return ""
        return known.blob_id

    def has_changed(self) -> bool:
        """Say whether anything stands otherwise than it was listed."""
        return any(
            stamp_at(path) != stamp for stamps in (self.folders, self.files) for path, stamp in stamps.items()
        )

    def stamps(self) -> Stamps:
        """Return the stamps of now of all that was listed."""
        return {path: stamp_at(path) for path in (*self.folders, *self.files)}

    def doubtful(self) -> Iterator[tuple[str, str]]:
        """Yield the files that may have been written again under their stamps, which are old now, and what
        they held: each of them once.
        """
        old = self._clock_ns() - _GRAIN_NS
        for path, one in list(self._read.items()):
            if not one.is_safe and one.stamp.newest_ns < old:
                del self._read[path]
                if path in self.files:
                    yield path, one.blob_id

"""Facts that are kept: a file is parsed once in its life."""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from audit.scanner.extract import grammar_version
from audit.scanner.extract.facts import FileFacts
from audit.scanner.extract.serial import FORMAT_VERSION, FactsFormatError, dump_facts, load_facts
from audit.scanner.whole_file import file_replace

_DAY_S = 86_400
_MOST_BYTES = 512 * 1024 * 1024
_MOST_AGE_S = 90 * _DAY_S
_LAST_CLEARED = ".cleared"
# The rest of a blob id, or what was on its way to become such a file: the folder may hold others' files.
_FACTS_FILE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|tmp\w+")
# So many files are written at most before it is looked whether there are too many.
_CLEARED_EVERY = 2_000


class FactsCache(Protocol):
    """Keeps facts by blob id. Extractor and grammar version are the cache's to mind."""

    def get(self, blob_id: str) -> FileFacts | None:
        """Return the facts of a blob, or None."""

    def put(self, blob_id: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""


def facts_version() -> str:
    """Name the extractor and the grammar that facts come from: facts of another version are not read."""
    return f"{FORMAT_VERSION}-{grammar_version()}"


def facts_pack(facts: FileFacts) -> bytes:
    """Write facts small, as they are kept far away."""
    return zlib.compress(dump_facts(facts), 1)


def facts_unpack(data: bytes) -> FileFacts | None:
    """Read facts as `facts_pack` wrote them, or None where the bytes are damaged or of another version."""
    try:
        return load_facts(zlib.decompress(data))
    except (zlib.error, FactsFormatError):
        return None


class DirectoryCache:
    """Keeps facts in a folder, one file for each blob: not compressed, for all are read at each scan.

    A file that can't be read or is damaged counts as absent; writing is atomic, and a folder that can't be
    written makes the cache useless, never the scan fail. Files that nobody has read for long go, those of
    other versions too, and beyond a size those that were read longest ago.
    """

    def __init__(
        self, folder: Path, *, most_bytes: int = _MOST_BYTES, most_age_seconds: float = _MOST_AGE_S
    ) -> None:
        self._root = folder
        self._folder = folder / f"{facts_version()}-plain"
        self._most_bytes = most_bytes
        self._most_age_s = most_age_seconds
        self._written = 0

    def get(self, blob_id: str) -> FileFacts | None:
        """Return the facts of a blob, or None."""
        path = self._path(blob_id)
        try:
            with path.open("rb", buffering=0) as file:
                data = file.readall()
                _mark_as_read(file.fileno(), path)
            return load_facts(data)
        except (OSError, FactsFormatError):
            return None

    def has(self, blob_id: str) -> bool:
        """Say whether there is something for a blob, which may turn out to be damaged."""
        return self._path(blob_id).exists()

    def put(self, blob_id: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""
        self._put(blob_id, dump_facts(facts))

    def put_packed(self, blob_id: str, data: bytes) -> None:
        """Keep the facts of a blob that `facts_pack` wrote."""
        with contextlib.suppress(zlib.error):
            self._put(blob_id, zlib.decompress(data))

    def _put(self, blob_id: str, data: bytes) -> None:
        path = self._path(blob_id)
        with contextlib.suppress(OSError):
            if self._written % _CLEARED_EVERY == 0:
                self._clear_when_due()
            self._written += 1
            path.parent.mkdir(parents=True, exist_ok=True)
            file_replace(path, (data,), prefix="tmp")

    def _path(self, blob_id: str) -> Path:
        return self._folder / blob_id[:2] / blob_id[2:]

    def _clear_when_due(self) -> None:
        """Clear up once a day, and in a long run again and again."""
        stamp = self._root / _LAST_CLEARED
        try:
            is_due = self._written > 0 or time.time() - stamp.stat().st_mtime > _DAY_S
        except OSError:
            is_due = True
        if is_due:
            self._root.mkdir(parents=True, exist_ok=True)
            stamp.touch()
            self.clear()

    def clear(self) -> None:
        """Drop what is too old, and beyond the size what was read longest ago."""
        known = sorted(_files_below(self._root), reverse=True)
        oldest, size = time.time() - self._most_age_s, 0
        for read_at, length, path in known:
            size += length
            if read_at < oldest or size > self._most_bytes:
                with contextlib.suppress(OSError):
                    path.unlink()


def _mark_as_read(descriptor: int, path: Path) -> None:
    """Set the time of a file, at most once a day: times of reading are not kept everywhere."""
    if time.time() - os.fstat(descriptor).st_mtime > _DAY_S:
        with contextlib.suppress(OSError):
            os.utime(path)


def _files_below(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield the files of facts, each with when it was read and its size."""
    for path in folder.glob("[0-9]*-*/??/*"):
        if not _FACTS_FILE.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):
            found = path.stat()
            yield found.st_mtime, found.st_size, path

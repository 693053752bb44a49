"""Facts that are kept: a file is parsed once in its life."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from pathlib import Path
from typing import Protocol

from audit.scanner.extract import grammar_version
from audit.scanner.extract.facts import FileFacts
from audit.scanner.extract.serial import FORMAT_VERSION, FactsFormatError, dump_facts, load_facts


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
    """Write facts as they are kept."""
    return zlib.compress(dump_facts(facts), 1)


def facts_unpack(data: bytes) -> FileFacts | None:
    """Read facts as they were kept, or None where the bytes are damaged or of another version."""
    try:
        return load_facts(zlib.decompress(data))
    except (zlib.error, FactsFormatError):
        return None


class DirectoryCache:
    """Keeps facts in a folder, one compressed file for each blob.

    A file that can't be read or is damaged counts as absent; writing is atomic, and a folder that can't be
    written makes the cache useless, never the scan fail.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / facts_version()

    def get(self, blob_id: str) -> FileFacts | None:
        """Return the facts of a blob, or None."""
        try:
            return facts_unpack(self._path(blob_id).read_bytes())
        except OSError:
            return None

    def has(self, blob_id: str) -> bool:
        """Say whether there is something for a blob, which may turn out to be damaged."""
        return self._path(blob_id).exists()

    def put(self, blob_id: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""
        self.put_packed(blob_id, facts_pack(facts))

    def put_packed(self, blob_id: str, data: bytes) -> None:
        """Keep the facts of a blob that `facts_pack` wrote."""
        path = self._path(blob_id)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)

    def _path(self, blob_id: str) -> Path:
        return self._folder / blob_id[:2] / blob_id[2:]

"""Facts that all workers share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.models import StoredFacts
from audit.scanner.cache import DirectoryCache, facts_pack, facts_unpack, facts_version
from audit.scanner.extract.facts import FileFacts

_ROWS_AT_ONCE = 50


class SharedCache:
    """Keeps facts in this machine's folder and in the database: what one worker parsed, no other parses.

    The folder is asked first. Rows are written some at a time, and the rest when the scan is over.
    """

    def __init__(self, folder: Path) -> None:
        self._local = DirectoryCache(folder)
        self._waiting: list[StoredFacts] = []

    def get(self, blob_id: str) -> FileFacts | None:
        """Return the facts of a blob, or None."""
        return self._local.get(blob_id) or self._from_database(blob_id)

    def put(self, blob_id: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""
        data = facts_pack(facts)
        self._local.put_packed(blob_id, data)
        self._waiting.append(StoredFacts(blob_id=blob_id, version=facts_version(), data=data))
        if len(self._waiting) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits; a row that another worker wrote meanwhile stays."""
        StoredFacts.objects.bulk_create(self._waiting, ignore_conflicts=True)
        self._waiting = []

    def _from_database(self, blob_id: str) -> FileFacts | None:
        stored = StoredFacts.objects.filter(blob_id=blob_id, version=facts_version()).first()
        if stored is None:
            return None
        data = bytes(stored.data)
        facts = facts_unpack(data)
        if facts is not None:
            self._local.put_packed(blob_id, data)
        return facts


@contextmanager
def shared_cache(*, folder: Path) -> Iterator[SharedCache]:
    """Give a cache to one scan, and write the rest of its facts when the scan went well."""
    cache = SharedCache(folder)
    yield cache
    cache.flush()

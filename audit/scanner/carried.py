"""What the scan of one commit leaves to the scan of the next, in the same process.

Bytes and facts of files that are the same are not read and loaded again, and what was found out about a
function is kept as long as all that it was found out from is as it was. A report never shows it: with what is
carried, and without, a commit gives the same report.
"""

from __future__ import annotations

from audit.scanner.cache import FactsCache
from audit.scanner.extract.facts import FileFacts
from audit.scanner.link.summaries import Summaries
from audit.scanner.source.base import Content


class Carried:
    """Holds what the last scan left; each scan uses that up and leaves its own."""

    def __init__(self) -> None:
        self.contents: dict[str, Content] = {}
        self.facts: dict[str, FileFacts] = {}
        self._summaries: Summaries | None = None

    @property
    def is_filled(self) -> bool:
        """Whether there is a linked workspace for the next scan."""
        return self._summaries is not None

    def taken(self) -> Summaries | None:
        """Hand out the linked workspace of the last scan; a scan that fails leaves none."""
        summaries, self._summaries = self._summaries, None
        return summaries

    def leave(self, contents: dict[str, Content], facts: dict[str, FileFacts], summaries: Summaries) -> None:
        """Leave the contents and facts by blob id, and the linked workspace."""
        self.contents, self.facts, self._summaries = contents, facts, summaries


class CarriedFacts:
    """The facts that were carried along, and behind them those of a cache."""

    def __init__(self, carried: Carried, cache: FactsCache | None) -> None:
        self._known = carried.facts
        self._cache = cache

    def get(self, blob_id: str) -> FileFacts | None:
        """Return the facts of a blob, or None."""
        found = self._known.get(blob_id)
        return self._cache.get(blob_id) if found is None and self._cache is not None else found

    def put(self, blob_id: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""
        if self._cache is not None:
            self._cache.put(blob_id, facts)

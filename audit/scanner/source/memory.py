"""A tree that is given as text: rule examples, tests, an editor's buffer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from audit.scanner.report import SourceInfo
from audit.scanner.source.base import Content, ReadFailure, SourceFile
from audit.scanner.source.selection import as_text


class MemorySource:
    """Files by path."""

    def __init__(self, files: Mapping[str, bytes], root: str = "memory") -> None:
        self._files = dict(sorted(files.items()))
        self.info = SourceInfo(root=root)

    def entries(self) -> Iterable[SourceFile]:
        """List the files."""
        return [SourceFile(path, _blob_id(data), len(data)) for path, data in self._files.items()]

    def read(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Content | ReadFailure]]:
        """Return the files' bytes."""
        for file in files:
            data = self._files.get(file.path)
            if data is None:
                yield file, ReadFailure("no such file", is_missing=True)
            else:
                yield file, as_text(data, file.blob_id)


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

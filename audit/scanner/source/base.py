"""What a scan reads from: a folder or one commit of a git repository, seen alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from audit.scanner.report import SourceInfo


class SourceFile(NamedTuple):
    """A file of the tree that a scan may read.

    `path` is relative to the root, with `/`; `blob_id` is git's object id of the bytes (also for a plain
    folder, so that facts are shared), or empty when it can't be told before the file is read.
    `skip_reason` says why the file will not be read (`symlink out of the tree`, `submodule`, `too large`).
    """

    path: str
    blob_id: str
    size_bytes: int
    skip_reason: str = ""


class ReadFailure(NamedTuple):
    """A file that could not be read.

    `is_missing` tells an object that the repository does not hold (a partial clone) from one that failed.
    """

    reason: str
    is_missing: bool = False


class Content(NamedTuple):
    """The bytes of a file, with the blob id of exactly these bytes."""

    data: bytes
    blob_id: str


class Source(Protocol):
    """A tree of files.

    `entries` lists every `*.rs` and `Cargo.toml` (skipped ones too), and any other regular file a Rust file
    may include as text (`*.ptx`, `*.wgsl`, `*.cu`), sorted by path. `read` yields one answer per asked file,
    in the order asked; it may stream, so that a git source needs one `cat-file --batch`. Bytes that are no
    UTF-8 text are answered with the failure that `selection.as_text` gives for them.
    """

    @property
    def info(self) -> SourceInfo:
        """Say where the bytes come from."""

    def entries(self) -> Iterable[SourceFile]:
        """List the files of the tree."""

    def read(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Content | ReadFailure]]:
        """Read the files asked for."""

"""A folder on disk as a source."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.report import SourceInfo
from audit.scanner.source.base import Content, ReadFailure, SourceFile
from audit.scanner.source.seen import Seen, stamp_at, stamp_of
from audit.scanner.source.selection import (
    CARGO_MANIFEST,
    as_text,
    is_wanted,
    printable,
    require_rust,
    too_large,
)

_VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
_READ_ATTEMPTS = 3


class FolderSource:
    """The files of a folder, as they are on disk. Symbolic links are listed and never followed.

    The folder is listed once. `only` narrows the source to one file directly in it. What is `seen` is noted
    there, and of files that stand as they were read the blob ids are known from there.
    """

    def __init__(
        self, root: Path, *, info: SourceInfo | None = None, only: str = "", seen: Seen | None = None
    ) -> None:
        self._root = root.resolve()
        self._info = info or SourceInfo(root=str(root))
        self._only = only
        self._seen = seen if seen is not None else Seen()

    @property
    def root(self) -> Path:
        """The folder."""
        return self._root

    @property
    def info(self) -> SourceInfo:
        """Say where the bytes come from."""
        return self._info

    def entries(self) -> tuple[SourceFile, ...]:
        """List the files of the tree, sorted by path; most blob ids are known only once a file is read."""
        return self._entries

    @cached_property
    def _entries(self) -> tuple[SourceFile, ...]:
        self._seen.begin()
        if self._only:
            return (self._only_file(),)
        found = sorted(self._walk(), key=lambda file: file.path)
        require_rust(found, str(self._root))
        return tuple(found)

    def read(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Content | ReadFailure]]:
        """Read the files asked for, in the order asked."""
        for file in files:
            # What is known of a file that has to be read is what it was.
            yield file._replace(blob_id="") if file.blob_id else file, self._read(self._root / file.path)

    def has_changed(self) -> bool:
        """Say whether anything stands otherwise than it was listed and read, as far as can be told now."""
        if self._seen.has_changed():
            return True
        for path, known in self._seen.doubtful():
            if self._blob_id_at(path) != known:
                # The stamp says nothing of it: from now on it is one that no file has.
                self._seen.files[path] = None
                return True
        return False

    def _blob_id_at(self, path: str) -> str:
        try:
            found = _read_unchanged(Path(path))
        except OSError:
            return ""
        if found is None:
            return ""
        data, status = found
        name = blob_id(data)
        self._seen.read(path, status, name)
        return name

    def _only_file(self) -> SourceFile:
        path = self._root / self._only
        try:
            status = path.stat()
        except OSError as error:
            raise ScanError(f"{path} can't be read: {_describe(error)}.") from error
        return self._listed(self._only, status)

    def _listed(self, path: str, status: os.stat_result | None, reason: str = "") -> SourceFile:
        shown, bad_name = printable(os.fsencode(path))
        size = status.st_size if status is not None else 0
        whole = self._whole(path)
        self._seen.files[whole] = stamp_of(status) if status is not None else stamp_at(whole)
        reason = bad_name or reason or too_large(size)
        return SourceFile(shown, "" if reason else self._seen.blob_id(whole), size, reason)

    def _whole(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _walk(self) -> Iterator[SourceFile]:
        """Yield what is wanted below the root, and each folder that is not entered, with the reason."""
        pending = [""]
        while pending:
            folder = pending.pop()
            whole = self._whole(folder)
            # Before its entries are: what comes between is noticed as a change.
            self._seen.folders[whole] = stamp_at(whole)
            try:
                children = list(os.scandir(whole))
            except OSError as error:
                if not folder:
                    raise ScanError(
                        f"{self._root} can't be read: {_describe(error)}. Check its permissions."
                    ) from error
                yield self._listed(folder, None, _describe(error))
                continue
            holds_package = any(child.name == CARGO_MANIFEST for child in children)
            for child in children:
                path = f"{folder}/{child.name}" if folder else child.name
                if child.is_symlink():
                    yield from self._link(path)
                elif not child.is_dir(follow_symlinks=False):
                    yield from self._file(child, path)
                elif child.name in _VERSION_CONTROL or _is_build_output(child, holds_package=holds_package):
                    continue
                elif _holds(child, ".git"):
                    reason = "a git repository of its own (submodule): scan it by itself"
                    yield self._listed(path, None, reason)
                else:
                    pending.append(path)

    def _file(self, child: os.DirEntry[str], path: str) -> Iterator[SourceFile]:
        if not is_wanted(path):
            return
        try:
            status = child.stat(follow_symlinks=False)
        except OSError as error:
            yield self._listed(path, None, _describe(error))
            return
        yield self._listed(path, status, "" if stat.S_ISREG(status.st_mode) else "not a regular file")

    def _link(self, path: str) -> Iterator[SourceFile]:
        """Name a link that stands where Rust could be: a wanted file, or a folder."""
        try:
            target = Path(self._whole(path)).resolve(strict=True)
            is_folder = target.is_dir()
        except (OSError, RuntimeError) as error:
            if is_wanted(path):
                yield self._listed(path, None, _why_unresolved(error))
            return
        if is_wanted(path) or is_folder:
            inside = target.is_relative_to(self._root)
            reason = f"symlink to {_shown(target, self._root)}" if inside else "symlink out of the tree"
            yield self._listed(path, None, reason)

    def _read(self, path: Path) -> Content | ReadFailure:
        try:
            for _ in range(_READ_ATTEMPTS):
                found = _read_unchanged(path)
                if found is None:
                    continue
                data, status = found
                if reason := too_large(len(data)):
                    return ReadFailure(reason)
                name = blob_id(data)
                self._seen.read(str(path), status, name)
                return as_text(data, name)
        except OSError as error:
            return ReadFailure(_describe(error))
        return ReadFailure(f"changed while it was read, {_READ_ATTEMPTS} times")


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Return git's object id of the bytes, so that a folder and a commit share cached facts."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def _why_unresolved(error: OSError | RuntimeError) -> str:
    """Name what is wrong with a link; pathlib reports a loop as RuntimeError before Python 3.13."""
    if isinstance(error, RuntimeError) or error.errno == errno.ELOOP:
        return "symlink loop"
    return "broken symlink" if error.errno == errno.ENOENT else f"symlink: {_describe(error)}"


def _shown(target: Path, root: Path) -> str:
    return printable(os.fsencode(target.relative_to(root)))[0]


def _is_build_output(child: os.DirEntry[str], *, holds_package: bool) -> bool:
    """Tell Cargo's target folder from a module that happens to be called `target`."""
    return child.name == "target" and (holds_package or _holds(child, "CACHEDIR.TAG"))


def _holds(folder: os.DirEntry[str], name: str) -> bool:
    """Tell whether the folder has an entry of that name; False also when it may not be looked into."""
    return os.path.lexists(Path(folder.path, name))


def _read_unchanged(path: Path) -> tuple[bytes, os.stat_result] | None:
    """Return the bytes and what stood before they were read; None when the file was written to meanwhile.

    Opened without following links and without blocking: since the tree was listed the file may have become
    a link out of it, or a pipe.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "is no regular file any more")
        data = _read_all(file.fileno(), before.st_size)
        after = os.fstat(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(
        data
    ) == after.st_size
    return (data, before) if same else None


def _read_all(descriptor: int, expected: int) -> bytes:
    """Read to the end, but no further than one byte beyond the size seen before."""
    chunks = []
    left = expected + 1
    while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _describe(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "gone since the folder was listed"
    if error.errno == errno.ELOOP:
        return "became a symlink since the folder was listed"
    return (error.strerror or str(error)).lower()

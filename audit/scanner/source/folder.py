"""A folder on disk as a source."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.report import SourceInfo
from audit.scanner.source.base import Content, ReadFailure, SourceFile
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

    `only` narrows the source to one file directly in the folder.
    """

    def __init__(self, root: Path, *, info: SourceInfo | None = None, only: str = "") -> None:
        self._root = root.resolve()
        self._info = info or SourceInfo(root=str(root))
        self._only = only

    @property
    def info(self) -> SourceInfo:
        """Say where the bytes come from."""
        return self._info

    def entries(self) -> tuple[SourceFile, ...]:
        """List the files of the tree, sorted by path; blob ids are known only once a file is read."""
        if self._only:
            return (_listed(self._only, (self._root / self._only).stat().st_size),)
        files = sorted(_walk(self._root), key=lambda file: file.path)
        require_rust(files, str(self._root))
        return tuple(files)

    def read(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Content | ReadFailure]]:
        """Read the files asked for, in the order asked."""
        for file in files:
            yield file, _read(self._root / file.path)


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Return git's object id of the bytes, so that a folder and a commit share cached facts."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def _listed(path: str, size_bytes: int = 0, reason: str = "") -> SourceFile:
    shown, bad_name = printable(os.fsencode(path))
    return SourceFile(shown, "", size_bytes, bad_name or reason or too_large(size_bytes))


def _walk(root: Path) -> Iterator[SourceFile]:
    """Yield what is wanted below the root, and each folder that is not entered, with the reason."""
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            children = list(os.scandir(root / folder))
        except OSError as error:
            if not folder:
                raise ScanError(
                    f"{root} can't be read: {_describe(error)}. Check its permissions."
                ) from error
            yield _listed(folder, reason=_describe(error))
            continue
        holds_package = any(child.name == CARGO_MANIFEST for child in children)
        for child in children:
            path = f"{folder}/{child.name}" if folder else child.name
            if child.is_symlink():
                yield from _link(root, path)
            elif not child.is_dir(follow_symlinks=False):
                yield from _file(child, path)
            elif child.name in _VERSION_CONTROL or _is_build_output(child, holds_package=holds_package):
                continue
            elif _holds(child, ".git"):
                yield _listed(path, reason="a git repository of its own (submodule): scan it by itself")
            else:
                pending.append(path)


def _file(child: os.DirEntry[str], path: str) -> Iterator[SourceFile]:
    if not is_wanted(path):
        return
    try:
        status = child.stat(follow_symlinks=False)
    except OSError as error:
        yield _listed(path, reason=_describe(error))
        return
    is_regular = stat.S_ISREG(status.st_mode)
    yield _listed(path, status.st_size, "" if is_regular else "not a regular file")


def _link(root: Path, path: str) -> Iterator[SourceFile]:
    """Name a link that stands where Rust could be: a wanted file, or a folder."""
    try:
        target = (root / path).resolve(strict=True)
        is_folder = target.is_dir()
    except (OSError, RuntimeError) as error:
        if is_wanted(path):
            yield _listed(path, reason=_why_unresolved(error))
        return
    if is_wanted(path) or is_folder:
        inside = target.is_relative_to(root)
        yield _listed(
            path, reason=f"symlink to {_shown(target, root)}" if inside else "symlink out of the tree"
        )


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


def _read(path: Path) -> Content | ReadFailure:
    try:
        for _ in range(_READ_ATTEMPTS):
            data = _read_unchanged(path)
            if data is not None:
                reason = too_large(len(data))
                return ReadFailure(reason) if reason else as_text(data, blob_id(data))
    except OSError as error:
        return ReadFailure(_describe(error))
    return ReadFailure(f"changed while it was read, {_READ_ATTEMPTS} times")


def _read_unchanged(path: Path) -> bytes | None:
    """Return the bytes, or None when the file was written to meanwhile.

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
    return data if same else None


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

"""From what a person names to a source."""

from __future__ import annotations

import os
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.report import SourceInfo
from audit.scanner.source.base import Source
from audit.scanner.source.folder import FolderSource
from audit.scanner.source.git_repository import (
    Repository,
    current_branch,
    find_repository,
    is_git_dir,
    origin_uri,
    repository_of_git_dir,
)
from audit.scanner.source.seen import Seen
from audit.scanner.source.selection import RUST_SUFFIX


def open_folder(path: str | Path, seen: Seen) -> FolderSource:
    """Open a folder or a Rust file as it is on disk, and note in `seen` what stands there.

    Raises `ScanError` when there is no such thing.
    """
    source = open_source(path, seen=seen)
    if not isinstance(source, FolderSource):
        raise ScanError(f"{path} is a bare repository, of which nothing is on disk: give a folder.")
    return source


def open_source(path: str | Path, revision: str = "", *, seen: Seen | None = None) -> Source:
    """Open a folder, a Rust file, or a commit of a git repository.

    A bare repository is read at `revision` or `HEAD`; a work tree at `revision`, or without one as it is on
    disk. Raises `ScanError` when there is nothing to scan.
    """
    try:
        return _open(Path(path), revision, seen)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScanError(f"{error.filename or path} can't be read: {reason}.") from error


def _open(named: Path, revision: str, seen: Seen | None) -> Source:
    if "\0" in str(named):
        raise ScanError("The path holds a NUL byte.")
    if not named.exists():
        raise ScanError(f"{named} does not exist: give a folder, a Rust file or a git repository.")
    path = named.resolve()
    if path.is_file():
        return _open_file(path, revision, seen)
    if not path.is_dir():
        raise ScanError(f"{named} is neither a folder nor a regular file: give a folder or a git repository.")
    if not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
        raise ScanError(f"{named} can't be read: permission denied. Check the permissions of the folder.")
    if is_git_dir(path):
        return _open_commit(repository_of_git_dir(path), revision)
    if not revision:
        return FolderSource(path, info=_folder_info(path), seen=seen)
    repository = find_repository(path)
    if repository is None or repository.work_tree is None:
        raise ScanError(f"{named} is in no git repository: leave out --rev, or give a repository.")
    prefix = path.relative_to(repository.work_tree).as_posix()
    return _open_commit(repository, revision, "" if prefix == "." else prefix)


def _open_commit(repository: Repository, revision: str, prefix: str = "") -> Source:
    # A folder is read without it.
    from audit.scanner.source.git import GitSource

    return GitSource(repository, revision, prefix)


def _open_file(path: Path, revision: str, seen: Seen | None) -> Source:
    if revision:
        raise ScanError(f"{path} is a file: --rev needs a repository, or a folder in one.")
    if not path.name.endswith(RUST_SUFFIX):
        raise ScanError(f"{path} is no Rust file (*.rs): give a folder, a Rust file or a git repository.")
    return FolderSource(path.parent, only=path.name, seen=seen)


def _folder_info(path: Path) -> SourceInfo:
    repository = _repository_around(path)
    if repository is None or repository.work_tree is None:
        return SourceInfo(root=str(path))
    prefix = path.relative_to(repository.work_tree).as_posix()
    return SourceInfo(
        root=str(path),
        repository_uri=origin_uri(repository),
        branch=current_branch(repository),
        path_in_repository="" if prefix == "." else prefix,
    )


def _repository_around(path: Path) -> Repository | None:
    """Find the repository a plain folder lies in; a broken one is no reason not to scan the folder."""
    try:
        return find_repository(path)
    except (ScanError, OSError):
        return None

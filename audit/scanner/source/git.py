"""A commit of a git repository as a source: blobs are read, nothing is checked out."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from audit.scanner.errors import ScanError
from audit.scanner.report import SourceInfo
from audit.scanner.source.base import Content, ReadFailure, SourceFile
from audit.scanner.source.git_command import BatchObject, ObjectReader, run_git
from audit.scanner.source.git_repository import Repository, origin_uri, resolve_commit
from audit.scanner.source.selection import as_text, is_wanted, printable, require_rust, too_large

_MISSING = (
    "the repository does not hold this object (partial clone?): fetch it with "
    "`git fetch --refetch --filter=blob:limit=10m`"
)
_SYMLINK_MODE = "120000"
_SUBMODULE_MODE = "160000"


class _TreeEntry(NamedTuple):
    mode: str
    object_id: str
    raw_path: bytes


class GitSource:
    """The tree of one commit, or of the folder `prefix` in it.

    Objects are read from an empty repository of our own that borrows the object database, because git in the
    repository itself would fetch what a partial clone lacks.
    """

    def __init__(self, repository: Repository, revision: str = "", prefix: str = "") -> None:
        commit = resolve_commit(repository, revision)
        root = repository.work_tree or repository.git_dir
        self._commit_id = commit.commit_id
        self._prefix = prefix
        self._info = SourceInfo(
            root=str(root / prefix),
            revision=revision,
            commit_id=commit.commit_id,
            repository_uri=origin_uri(repository),
            branch=commit.branch,
            committed_at=commit.committed_at,
            path_in_repository=prefix,
        )
        self._objects = {"GIT_OBJECT_DIRECTORY": str(repository.objects_dir)}
        self._borrower = _empty_repository(len(commit.commit_id))

    @property
    def info(self) -> SourceInfo:
        """Say where the bytes come from."""
        return self._info

    def entries(self) -> tuple[SourceFile, ...]:
        """List the files of the tree, sorted by path."""
        return self._entries

    @cached_property
    def _entries(self) -> tuple[SourceFile, ...]:
        # Whoever chooses the profile asks, and the scan asks again: a commit's tree stays as it is.
        tree = list(self._tree())
        folders = _folders(tree)
        blobs = [entry for entry in tree if entry.mode not in (_SYMLINK_MODE, _SUBMODULE_MODE)]
        wanted = [entry for entry in blobs if is_wanted(printable(entry.raw_path)[0])]
        files = list(self._sized(wanted))
        files += [_submodule(entry) for entry in tree if entry.mode == _SUBMODULE_MODE]
        files += self._links([entry for entry in tree if entry.mode == _SYMLINK_MODE], folders)
        where = f"Commit {self._commit_id[:12]} of {self._info.root}"
        require_rust(files, where)
        return tuple(sorted(files, key=lambda file: file.path))

    def read(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Content | ReadFailure]]:
        """Read the files asked for, in the order asked, through one `git cat-file`."""
        asked = list(files)
        with self._reader(headers_only=False) as reader:
            for file, answer in zip(asked, reader.read(file.blob_id for file in asked), strict=True):
                yield file, _content(answer)

    def _reader(self, *, headers_only: bool) -> ObjectReader:
        return ObjectReader(self._borrower.path, self._objects, headers_only=headers_only)

    def _tree(self) -> Iterator[_TreeEntry]:
        treeish = f"{self._commit_id}:{self._prefix}" if self._prefix else self._commit_id
        answer = run_git(
            "-C",
            str(self._borrower.path),
            "ls-tree",
            "-r",
            "-z",
            "--full-tree",
            treeish,
            extra_environment=self._objects,
        )
        if not answer.succeeded:
            if self._prefix and "Not a valid object name" in answer.error:
                raise ScanError(f"Commit {self._commit_id[:12]} does not hold the folder {self._prefix}.")
            raise ScanError(
                f"The tree of commit {self._commit_id[:12]} can't be listed: {answer.error}. If the clone is "
                "partial or damaged, run `git fetch --refetch` in it."
            )
        for line in answer.output.split(b"\0"):
            if line:
                header, _, raw_path = line.partition(b"\t")
                mode, _, object_id = header.decode().split(" ")
                yield _TreeEntry(mode, object_id, raw_path)

    def _sized(self, entries: list[_TreeEntry]) -> Iterator[SourceFile]:
        with self._reader(headers_only=True) as reader:
            answers = reader.read(entry.object_id for entry in entries)
            for entry, answer in zip(entries, answers, strict=True):
                path, reason = printable(entry.raw_path)
                yield SourceFile(
                    path, entry.object_id, answer.size_bytes, reason or too_large(answer.size_bytes)
                )

    def _links(self, entries: list[_TreeEntry], folders: set[str]) -> Iterator[SourceFile]:
        """Name the links that stand where Rust could be: a wanted file, or a folder of the tree."""
        with self._reader(headers_only=False) as reader:
            answers = reader.read(entry.object_id for entry in entries)
            for entry, answer in zip(entries, answers, strict=True):
                path, reason = printable(entry.raw_path)
                target = _link_target(path, answer.data)
                if is_wanted(path) or target in folders:
                    reason = reason or (f"symlink to {target}" if target else "symlink out of the tree")
                    yield SourceFile(path, entry.object_id, 0, reason)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _TemporaryFolder:
    """A folder that goes when nothing refers to it any more."""

    path: Path


def _empty_repository(id_length: int) -> _TemporaryFolder:
    folder = _TemporaryFolder(Path(tempfile.mkdtemp(prefix="ferroaudit-git-")))
    weakref.finalize(folder, shutil.rmtree, folder.path, ignore_errors=True)
    algorithm = "sha256" if id_length == 64 else "sha1"
    answer = run_git(
        "init", "--quiet", "--bare", "--template=", f"--object-format={algorithm}", str(folder.path)
    )
    if not answer.succeeded:
        raise ScanError(f"A working folder for git can't be made in {folder.path}: {answer.error}.")
    return folder


def _folders(tree: list[_TreeEntry]) -> set[str]:
    """Return every folder of the tree that holds something wanted, directly or below."""
    folders: set[str] = set()
    for entry in tree:
        path = printable(entry.raw_path)[0]
        if is_wanted(path):
            folders.update(str(parent) for parent in PurePosixPath(path).parents)
    return folders


def _submodule(entry: _TreeEntry) -> SourceFile:
    reason = "a git repository of its own (submodule): scan it by itself"
    return SourceFile(printable(entry.raw_path)[0], entry.object_id, 0, reason)


def _link_target(path: str, target: bytes) -> str:
    """Return where a link leads, relative to the root of the tree; nothing when it leads out of it."""
    text = printable(target)[0]
    if text.startswith("/"):
        return ""
    parts: list[str] = list(PurePosixPath(path).parent.parts)
    for part in PurePosixPath(text).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return ""
    return "/".join(parts) or "."


def _content(answer: BatchObject) -> Content | ReadFailure:
    if answer.is_missing:
        return ReadFailure(_MISSING, is_missing=True)
    if answer.failure:
        return ReadFailure(answer.failure)
    return as_text(answer.data, answer.object_id)

"""The source text that a stored scan read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from audit.models import RepositoryKind, ScanFile, ScanRun
from audit.scanner.errors import ScanError
from audit.scanner.source.base import Content, SourceFile
from audit.scanner.source.folder import FolderSource
from audit.services.git_repository import blobs_read, git_dir_of

MAX_BYTES = 10_000_000


def source_texts(*, scan_run: ScanRun, paths: Iterable[str]) -> dict[str, str]:
    """Read files as the scan saw them, by path; a file that can't be had any more is left out.

    A plain folder has only its newest state: a file that changed since the scan is left out.
    """
    files = list(ScanFile.objects.filter(scan_run=scan_run, path__in=set(paths), size_bytes__lte=MAX_BYTES))
    if scan_run.repository.kind == RepositoryKind.FOLDER:
        contents = _folder_contents(Path(scan_run.repository.location), files)
    else:
        blobs = blobs_read(
            git_dir=git_dir_of(scan_run.repository), blob_ids=sorted({file.blob_id for file in files})
        )
        contents = {file.path: blobs[file.blob_id] for file in files if file.blob_id in blobs}
    return {path: data.decode(errors="replace") for path, data in contents.items()}


def _folder_contents(folder: Path, files: Iterable[ScanFile]) -> dict[str, bytes]:
    expected = {file.path: file.blob_id for file in files}
    wanted = [SourceFile(file.path, file.blob_id, file.size_bytes) for file in files]
    try:
        return {
            file.path: content.data
            for file, content in FolderSource(folder).read(wanted)
            if isinstance(content, Content) and content.blob_id == expected[file.path]
        }
    except (ScanError, OSError):
        return {}

"""The way from a scan's row to the scanner, which knows neither Django nor the database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from audit.errors import AuditError
from audit.models import Repository, ScanRun
from audit.rules import RULES
from audit.scanner.cache import DirectoryCache
from audit.scanner.pipeline import scan, scanner_version
from audit.scanner.profile import DEFAULT_PROFILE, load_profile
from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.report import Progress, ScanReport
from audit.scanner.source.base import Content, Source
from audit.scanner.source.opening import open_source
from audit.services.git_repository import git_dir_of

SNAPSHOT = "snapshot:"


@dataclass(frozen=True, slots=True)
class Judge:
    """Who says what a commit holds; another judge's scan of the same commit is another scan."""

    scanner_version: str
    profile_name: str
    profile_hash: str
    ptxas_version: str


def judge_current(*, profile: str) -> Judge:
    """Name the judge that this installation scans with."""
    loaded = load_profile(profile or DEFAULT_PROFILE)
    assembler = _assembler()
    version = assembler.version if assembler is not None else ""
    return Judge(scanner_version(), loaded.name, loaded.digest, version)


def commit_scan(*, scan_run: ScanRun, progress: Callable[[Progress], None]) -> ScanReport:
    """Scan the commit of a scan's row."""
    commit = scan_run.commit
    revision = "" if commit.is_snapshot else commit.object_id
    return scan(
        open_source(_place(scan_run.repository), revision),
        profile=load_profile(scan_run.repository.profile or DEFAULT_PROFILE),
        rules=RULES,
        jobs=settings.SCAN_JOBS,
        cache=DirectoryCache(Path(settings.SCAN_CACHE_DIR)),
        assembler=_assembler(),
        progress=progress,
    )


def snapshot_id(*, folder: Path) -> str:
    """Name the state of a plain folder by its files."""
    source: Source = open_source(folder)
    digest = hashlib.sha256()
    for file, content in source.read(source.entries()):
        state = content.blob_id if isinstance(content, Content) else content.reason
        digest.update(f"{file.path}\0{state}\n".encode(errors="surrogateescape"))
    return SNAPSHOT + digest.hexdigest()


def snapshot_check(*, scan_run: ScanRun) -> None:
    """Raise unless a plain folder is still as it was when the scan was asked for."""
    if snapshot_id(folder=Path(scan_run.repository.location)) != scan_run.commit.object_id:
        raise AuditError(
            f"The files in `{scan_run.repository.location}` changed after the scan was asked for. Ask again."
        )


def _assembler() -> Assembler | None:
    return find_assembler(cache=Path(settings.SCAN_CACHE_DIR), jobs=settings.SCAN_JOBS)


def _place(repository: Repository) -> Path:
    return git_dir_of(repository) if repository.has_revisions else Path(repository.location)

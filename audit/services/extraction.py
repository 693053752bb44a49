"""Parsing a large commit with several workers: in parts, through the cache that they share.

Nothing depends on the others. A part that nobody takes, or whose worker is lost, is parsed by the scan's own
worker; the scan itself parses whatever the cache does not hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from django.conf import settings
from django.db.models.functions import Now

from audit.errors import LeaseLostError
from audit.models import RowState, ScanChunk, ScanRun
from audit.scanner.extract import extract
from audit.scanner.report import Progress
from audit.scanner.source.base import Content, Source
from audit.services.facts_cache import SharedCache, shared_cache
from audit.services.leases import lease_claim, lease_finish, lease_kept

CHUNK_BYTES = 1024 * 1024
MEBIBYTE = 1024 * 1024
LOOK_EVERY_SECONDS = 0.2

TellWorkers = Callable[[Sequence[ScanChunk]], None]
Note = Callable[[Progress], None]


def extraction_share(*, scan_run: ScanRun, source: Source, tell: TellWorkers, note: Note) -> None:
    """Parse what was never parsed together with whoever is free; return when all of it was."""
    if settings.SCAN_JOBS > 1:
        return
    with _cache() as cache:
        fresh = [
            (path, len(content.data))
            for path, content in _contents(source)
            if cache.get(content.blob_id) is None
        ]
    if sum(size for _, size in fresh) <= settings.SCAN_SHARED_FROM_MB * MEBIBYTE:
        return
    # A worker that was lost has left its own behind.
    ScanChunk.objects.filter(scan_run=scan_run).delete()
    chunks = ScanChunk.objects.bulk_create(
        ScanChunk(scan_run=scan_run, number=number, paths=paths, woken_at=Now())
        for number, paths in enumerate(_parted(fresh))
    )
    try:
        tell(chunks)
        _work_along(scan_run, source, len(fresh), note)
    finally:
        # Whoever is at one of them notices at the next file.
        ScanChunk.objects.filter(scan_run=scan_run).delete()


def chunk_execute(*, pk: int, open_source: Callable[[ScanRun], Source]) -> bool:
    """Parse a part of somebody else's scan. Returns whether this call did."""
    lease_id = lease_claim(model=ScanChunk, pk=pk)
    if lease_id is None:
        return False
    try:
        chunk = ScanChunk.objects.select_related("scan_run__repository", "scan_run__commit").get(pk=pk)
        with lease_kept(row=chunk, lease_id=lease_id) as heartbeat:
            for _ in _parse(open_source(chunk.scan_run), chunk.paths):
                heartbeat.note()
        lease_finish(row=chunk, lease_id=lease_id, state=RowState.SUCCEEDED)
    except (LeaseLostError, ScanChunk.DoesNotExist):
        return False
    return True


def _work_along(scan_run: ScanRun, source: Source, total: int, note: Note) -> None:
    own = ScanChunk.objects.filter(scan_run=scan_run)
    # The others begin at the front.
    for chunk in own.order_by("-number"):
        lease_id = lease_claim(model=ScanChunk, pk=chunk.pk)
        if lease_id is None:
            continue
        for _ in _parse(source, chunk.paths):
            note(Progress("extract", _done(scan_run), total))
        own.filter(pk=chunk.pk).update(
            state=RowState.SUCCEEDED, finished_at=Now(), lease_id=None, lease_expires_at=None
        )
    while own.filter(state=RowState.RUNNING, lease_expires_at__gt=Now()).exists():
        note(Progress("extract", _done(scan_run), total))
        time.sleep(LOOK_EVERY_SECONDS)


def _done(scan_run: ScanRun) -> int:
    over = ScanChunk.objects.filter(scan_run=scan_run, state=RowState.SUCCEEDED)
    return sum(len(paths) for paths in over.values_list("paths", flat=True))


def _parse(source: Source, paths: Sequence[str]) -> Iterator[str]:
    with _cache() as cache:
        for path, content in _contents(source, frozenset(paths)):
            if cache.get(content.blob_id) is None:
                cache.put(content.blob_id, extract(content.data))
            yield path


def _contents(source: Source, wanted: frozenset[str] | None = None) -> Iterator[tuple[str, Content]]:
    entries = [
        entry
        for entry in source.entries()
        if entry.path.endswith(".rs") and not entry.skip_reason and (wanted is None or entry.path in wanted)
    ]
    for file, content in source.read(entries):
        if isinstance(content, Content):
            yield file.path, content


def _parted(fresh: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    """Part the files into parts of about the same size; big files first, so that none comes last alone."""
    part: list[str] = []
    size = 0
    for path, length in sorted(fresh, key=lambda one: -one[1]):
        part.append(path)
        size += length
        if size >= CHUNK_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _cache() -> AbstractContextManager[SharedCache]:
    return shared_cache(folder=Path(settings.SCAN_CACHE_DIR))

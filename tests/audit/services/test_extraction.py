"""Parsing a large commit in parts: by whoever is free, by the scan's own worker, each file once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now
from pytest_django import Settings

from audit.errors import LeaseLostError
from audit.models import RowState, ScanChunk, ScanRun
from audit.scanner.extract import extract
from audit.scanner.extract.facts import FileFacts
from audit.scanner.report import Progress
from audit.services import extraction
from audit.services.extraction import chunk_execute, extraction_share
from audit.services.leases import lease_claim
from audit.services.repositories import repository_add
from audit.services.scanning import files_of
from tests.factories import make_scan_run

pytestmark = pytest.mark.django_db(transaction=True)

FILES = 12


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.SCAN_SHARED_FROM_MB = 0
    settings.SCAN_JOBS = 1
    monkeypatch.setattr(extraction, "CHUNK_BYTES", 60)
    monkeypatch.setattr(extraction, "LOOK_EVERY_SECONDS", 0.01)


@pytest.fixture
def scan_run(tmp_path: Path) -> ScanRun:
    for number in range(FILES):
        path = tmp_path / "tree" / "src" / f"f{number}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"pub fn f{number}() -> u32 {{ {number} }}\n")
    repository = repository_add(location=str(tmp_path / "tree"), actor=None)
    repository.branches.create(name="main")
    return make_scan_run(repository)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What was parsed, in order."""
    found: list[bytes] = []

    def noted(data: bytes) -> FileFacts:
        found.append(data)
        return extract(data)

    monkeypatch.setattr(extraction, "extract", noted)
    yield found


def share(scan_run: ScanRun, tell: extraction.TellWorkers, note: extraction.Note = lambda _: None) -> None:
    extraction_share(scan_run=scan_run, source=files_of(scan_run), tell=tell, note=note)


def test_where_nobody_else_is_free_the_scan_s_worker_parses_all_once(
    scan_run: ScanRun, parsed: list[bytes]
) -> None:
    progress: list[Progress] = []
    share(scan_run, lambda chunks: None, progress.append)
    assert len(parsed) == len(set(parsed)) == FILES
    assert progress[-1].total == FILES
    assert not ScanChunk.objects.exists()
    share(scan_run, lambda chunks: pytest.fail("nothing is fresh any more"))
    assert len(parsed) == FILES


def test_another_worker_takes_parts_and_no_file_is_parsed_twice(
    scan_run: ScanRun, parsed: list[bytes]
) -> None:
    done: list[bool] = []

    def help_out(chunks: Sequence[ScanChunk]) -> None:
        assert len(chunks) > 3
        pks = [chunk.pk for chunk in chunks]

        def work() -> None:
            done.extend(chunk_execute(pk=pk, open_source=files_of) for pk in pks[:2])
            connection.close()

        helper = threading.Thread(target=work)
        helper.start()
        helper.join()

    share(scan_run, help_out)
    assert done == [True, True]
    assert len(parsed) == len(set(parsed)) == FILES


def test_a_part_whose_worker_was_lost_does_not_hold_the_scan_up(
    scan_run: ScanRun, parsed: list[bytes]
) -> None:
    def take_and_die(chunks: Sequence[ScanChunk]) -> None:
        lease_claim(model=ScanChunk, pk=chunks[0].pk)
        ScanChunk.objects.filter(pk=chunks[0].pk).update(lease_expires_at=Now() - timedelta(seconds=1))

    share(scan_run, take_and_die)
    assert len(parsed) == FILES


def test_a_scan_that_is_cancelled_takes_its_parts_away(scan_run: ScanRun, parsed: list[bytes]) -> None:
    def cancelled(progress: Progress) -> None:
        if len(parsed) > 2:
            raise LeaseLostError("cancelled")

    with pytest.raises(LeaseLostError):
        share(scan_run, lambda chunks: None, cancelled)
    assert len(parsed) < FILES
    assert not ScanChunk.objects.exists()


def test_a_part_that_is_gone_or_taken_is_left_alone(scan_run: ScanRun, parsed: list[bytes]) -> None:
    assert not chunk_execute(pk=999, open_source=files_of)
    chunk = ScanChunk.objects.create(scan_run=scan_run, number=0, paths=["src/f1.rs"])
    assert lease_claim(model=ScanChunk, pk=chunk.pk)
    assert not chunk_execute(pk=chunk.pk, open_source=files_of)
    assert parsed == []


def test_a_small_or_a_known_commit_is_not_shared(scan_run: ScanRun, settings: Settings) -> None:
    settings.SCAN_SHARED_FROM_MB = 4
    share(scan_run, lambda chunks: pytest.fail("it is small"))
    settings.SCAN_SHARED_FROM_MB, settings.SCAN_JOBS = 0, 2
    share(scan_run, lambda chunks: pytest.fail("each scan has processes of its own"))
    assert ScanRun.objects.get().state == RowState.PENDING

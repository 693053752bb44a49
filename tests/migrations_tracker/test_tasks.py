"""Scans through a real broker and real workers, also when one of them is killed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.models.functions import Now

from audit.models import FallbackSite, Result, RowState, ScanChunk, ScanRun
from audit.services.repositories import repository_add
from audit.services.scan_runs import scan_run_cancel
from migrations_tracker.models import SiteMigration
from migrations_tracker.services.scans import rows_wake_lost, scan_ask
from tests.factories import make_user
from tests.fixtures.worker import ROOT, WorkerProcess
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLE = ROOT / "tests" / "samples" / "minitorch"
PATIENCE_SECONDS = 90


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Keep the worker's files in the test's folder."""
    found = {"SCAN_CACHE_DIR": str(tmp_path / "cache"), "REPOSITORIES_DIR": str(tmp_path / "clones")}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def wait_until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def has_phase(scan_run: ScanRun) -> bool:
    scan_run.refresh_from_db()
    return bool(scan_run.phase)


def is_over(scan_run: ScanRun) -> bool:
    scan_run.refresh_from_db()
    return scan_run.is_over


def test_the_command_waits_for_the_worker_and_says_what_was_found(
    start_worker: Callable[..., WorkerProcess],
    environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start_worker(environment=environment)
    tree = tmp_path / "tree"
    commit_files(tree, {"README.md": "# Sample\n"})
    shutil.copytree(SAMPLE, tree, dirs_exist_ok=True)
    commit_files(tree, {})
    call_command("scan", tree.as_uri(), timeout=PATIENCE_SECONDS)
    scan_run = ScanRun.objects.get()
    said = capsys.readouterr().out
    assert f"{scan_run.result_count} results in {scan_run.file_count} files" in said
    assert scan_run.result_count == Result.objects.count() > 0
    of_sites = SiteMigration.objects.filter(gap=None).count()
    assert of_sites == FallbackSite.objects.count() == scan_run.new_count


def test_the_command_says_why_a_scan_failed(
    start_worker: Callable[..., WorkerProcess], environment: dict[str, str], tmp_path: Path
) -> None:
    start_worker(environment=environment)
    commit_files(tmp_path / "tree", {"README.md": "# Nothing\n"})
    with pytest.raises(CommandError, match="no Rust file"):
        call_command("scan", (tmp_path / "tree").as_uri(), timeout=PATIENCE_SECONDS)
    with pytest.raises(CommandError, match="no revision `nowhere`"):
        call_command("scan", (tmp_path / "tree").as_uri(), rev="nowhere", timeout=PATIENCE_SECONDS)
    with pytest.raises(CommandError, match="does not exist"):
        call_command("scan", "/nonexistent")


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(
    start_worker: Callable[..., WorkerProcess], environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    for number in range(30):
        shutil.copytree(SAMPLE, folder / f"copy-{number}")
    scan_run = scan_ask(repository=repository_add(location=str(folder), actor=None), actor=None)
    assert isinstance(scan_run, ScanRun)
    worker = start_worker(environment=environment)
    wait_until(lambda: has_phase(scan_run))
    worker.kill()
    assert not is_over(scan_run), "the worker was killed too late for this test"
    assert not FallbackSite.objects.exists()

    ScanRun.objects.update(lease_expires_at=Now() - timedelta(seconds=1), woken_at=None)
    start_worker(environment=environment)
    assert rows_wake_lost() == 1
    wait_until(lambda: is_over(scan_run))
    assert (scan_run.state, scan_run.failure_reason) == (RowState.SUCCEEDED, "")
    assert scan_run.attempts == 2
    assert Result.objects.count() == FallbackSite.objects.count() == scan_run.result_count > 0


def test_a_scan_cancelled_while_it_runs_ends_its_worker_s_work_and_stores_nothing(
    start_worker: Callable[..., WorkerProcess], environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    for number in range(30):
        shutil.copytree(SAMPLE, folder / f"copy-{number}")
    scan_run = scan_ask(repository=repository_add(location=str(folder), actor=None), actor=None)
    assert isinstance(scan_run, ScanRun)
    worker = start_worker(environment=environment)
    wait_until(lambda: has_phase(scan_run))
    assert scan_run_cancel(scan_run=scan_run, actor=make_user())
    last_phase = ScanRun.objects.get().phase
    assert last_phase in {"read", "extract"}, "it was cancelled too late for this test"
    wait_until(lambda: "scan_run_execute[" in (log := worker.log.read_text()) and " succeeded in " in log)
    row = ScanRun.objects.get()
    assert (row.state, str(row.cancelled_by), row.lease_id) == (RowState.CANCELLED, "ada", None)
    assert row.phase in {"read", "extract"}, "the worker went on"
    assert not Result.objects.exists()


def test_two_workers_share_the_parsing_of_a_large_commit(
    start_worker: Callable[..., WorkerProcess], environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    for number in range(6):
        shutil.copytree(SAMPLE, folder / f"copy-{number}")
        for path in (folder / f"copy-{number}").rglob("*.rs"):
            # Else every copy would be the same blobs, parsed once.
            path.write_text(path.read_text() + f"// copy {number}\n")
    scan_run = scan_ask(repository=repository_add(location=str(folder), actor=None), actor=None)
    assert isinstance(scan_run, ScanRun)
    environment["SCAN_SHARED_FROM_MB"] = "0"
    workers = [start_worker(environment=environment) for _ in range(2)]
    rows_wake_lost()
    wait_until(lambda: is_over(scan_run))
    assert (scan_run.state, scan_run.failure_reason) == (RowState.SUCCEEDED, "")
    assert scan_run.result_count == Result.objects.count() > 0
    # The one that scans takes parts without a message; a message that it gets afterwards finds no part.
    wait_until(lambda: any("scan_chunk_execute[" in worker.log.read_text() for worker in workers))
    assert not ScanChunk.objects.exists()


def test_a_broker_that_is_away_delays_a_scan_and_loses_nothing(
    start_worker: Callable[..., WorkerProcess],
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(SAMPLE, tree)
    repository = repository_add(location=str(tree), actor=None)

    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no broker")

    with monkeypatch.context() as patch:
        patch.setattr("migrations_tracker.services.scans.current_app.send_task", refuse)
        scan_run = scan_ask(repository=repository, actor=None)
    assert isinstance(scan_run, ScanRun)
    assert scan_run.state == RowState.PENDING

    ScanRun.objects.update(woken_at=Now() - timedelta(minutes=2))
    start_worker(environment=environment)
    assert rows_wake_lost() == 1
    wait_until(lambda: is_over(scan_run))
    assert scan_run.state == RowState.SUCCEEDED


def test_the_command_goes_on_waiting_when_the_database_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "tree")

    def restart(seconds: float) -> None:
        monkeypatch.setattr("migrations_tracker.management.commands.scan.sleep", finish)
        with suppress(OperationalError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    def finish(seconds: float) -> None:
        ScanRun.objects.update(state=RowState.SUCCEEDED, finished_at=Now())

    monkeypatch.setattr("migrations_tracker.services.scans.current_app.send_task", lambda *_, **__: None)
    monkeypatch.setattr("migrations_tracker.management.commands.scan.sleep", restart)
    call_command("scan", str(tmp_path / "tree"), timeout=PATIENCE_SECONDS)
    assert "waiting for a worker" in capsys.readouterr().out

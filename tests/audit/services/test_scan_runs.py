"""Asking for scans and running them: once, whoever asks, whatever is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from pytest_django import Settings

from audit.errors import LeaseLostError, RevisionUnknownError
from audit.models import FallbackSite, Repository, Result, RowState, ScanRequest, ScanRun, SiteState
from audit.scanner.errors import ScanError
from audit.scanner.inventory import Inventory
from audit.scanner.report import Progress, ScanReport
from audit.services import leases, scan_requests, scan_runs, scanning
from audit.services.capabilities import NO_LAYOUT, Capabilities
from audit.services.leases import lease_claim, lease_finish, lease_give_up_lost, lease_wake
from audit.services.repositories import repository_add
from migrations_tracker.models import SiteMigration
from migrations_tracker.services.follow_up import scan_run_follow_up
from tests.factories import make_report, make_repository, make_result, make_scan_run, make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

FALLBACK = """
pub fn gpu_relu(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), RELU_PTX, "relu_kernel") {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(x, device)?;
            let out: Vec<f32> = host.iter().map(|v| v.max(0.0)).collect();
            return cpu_to_gpu(&out, device);
        }
    };
    launch(&f, x, device)
}
"""
MANIFEST = (
    '[package]\nname = "minitorch-gpu"\nversion = "0.1.0"\nedition = "2021"\n'
    '[dependencies]\nferrotorch-core = "0.1"\n'
)


def in_threads(count: int, act: Callable[[], object]) -> list[object]:
    """Let `count` threads do the same at the same moment; return what each got."""
    barrier = threading.Barrier(count)
    answers: list[object] = []

    def run() -> None:
        barrier.wait()
        try:
            answers.append(act())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/src/lib.rs": FALLBACK, "minitorch-gpu/Cargo.toml": MANIFEST})
    return tree


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


def ask(repository: Repository, revision: str = "") -> ScanRun:
    commit, branch = scan_requests.commit_locate(repository=repository, revision=revision)
    return scan_requests.scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)


def execute(scan_run: ScanRun) -> bool:
    return scan_runs.scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)


def scanned(report: ScanReport) -> scanning.Scanned:
    """What the scanner gives, without a matrix."""
    return scanning.Scanned(report, Capabilities("2.11.0", failure_reason=NO_LAYOUT), Inventory())


def answer_with(monkeypatch: pytest.MonkeyPatch, act: Callable[[], ScanReport]) -> None:
    """Let the scanner answer what `act` gives."""
    judge = scanning.Judge("1.0", "ferrotorch", "0" * 64, "")
    monkeypatch.setattr(scanning, "judge_current", lambda *, repository, commit: judge)
    monkeypatch.setattr(scanning, "snapshot_check", lambda *, scan_run: None)
    monkeypatch.setattr(scanning, "commit_scan", lambda *, scan_run, progress, tell: scanned(act()))


def test_a_git_repository_is_scanned_from_asking_to_sites(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan_run = ask(repository)
    assert execute(scan_run)
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.failure_reason) == ("succeeded", "")
    assert Result.objects.get(rule_id="FT001").symbol == "minitorch_gpu::gpu_relu"
    assert list(scan_run.files.values_list("path", flat=True)) == [
        "minitorch-gpu/Cargo.toml",
        "minitorch-gpu/src/lib.rs",
    ]
    assert scan_run.rules.get(rule_id="FT001").status == "ran"
    assert scan_run.inventory.gpu_crates == ["minitorch-gpu"]
    assert scan_run.inventory.dependencies == {"minitorch-gpu": ["ferrotorch-core"]}


def test_a_migrated_site_is_closed_with_what_became_of_it(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    assert execute(ask(repository))
    start, end = FALLBACK.index("Err(_)"), FALLBACK.index("    };")
    migrated = FALLBACK[:start] + "Err(_) => return Err(GpuError::Unsupported),\n" + FALLBACK[end:]
    commit_files(tree, {"minitorch-gpu/src/lib.rs": migrated})
    assert execute(ask(repository))
    closed = SiteState.objects.get(rule_id="FT001")
    assert (closed.is_open, closed.outcome) == (False, "structured-error")
    assert [step["role"] for step in closed.outcome_evidence["steps"]] == ["anchor", "effect"]


def test_a_plain_folder_is_scanned_and_known_by_its_content(tree: Path) -> None:
    repository = repository_add(location=str(tree / "minitorch-gpu"), actor=None)
    first = ask(repository)
    assert first.commit.is_snapshot
    assert execute(first)
    assert ask(repository) == first
    (tree / "minitorch-gpu/src/lib.rs").write_text(FALLBACK.replace("gpu_relu", "gpu_elu"))
    assert ask(repository) != first


def test_a_plain_folder_that_is_put_back_is_seen_as_it_is(tree: Path) -> None:
    repository = repository_add(location=str(tree / "minitorch-gpu"), actor=None)
    source = tree / "minitorch-gpu/src/lib.rs"
    was = source.read_text()
    first = ask(repository)
    assert execute(first)
    start, end = FALLBACK.index("Err(_)"), FALLBACK.index("    };")
    source.write_text(FALLBACK[:start] + "Err(_) => return Err(GpuError::Unsupported),\n" + FALLBACK[end:])
    assert execute(ask(repository))
    assert not SiteState.objects.get(rule_id="FT001").is_open
    source.write_text(was)
    again = ask(repository)
    assert (again.pk, again.state) == (first.pk, "pending")
    assert execute(again)
    assert SiteState.objects.get(rule_id="FT001").is_open
    assert SiteMigration.objects.get(site__rule_id="FT001").status == "reopened"
    assert ask(repository).state == "succeeded"


def test_a_folder_that_changed_after_the_request_fails_with_the_reason(tree: Path) -> None:
    scan_run = ask(repository_add(location=str(tree / "minitorch-gpu"), actor=None))
    (tree / "minitorch-gpu/src/lib.rs").write_text("fn f() {}\n")
    assert not execute(scan_run)
    scan_run.refresh_from_db()
    assert "changed after the scan was asked for" in scan_run.failure_reason


def test_asking_twice_gives_one_scan(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    first = ask(repository)
    assert ask(repository, "main") == first
    assert execute(first)
    assert ask(repository) == first
    assert not execute(first)
    assert Result.objects.count() == ScanRun.objects.get().result_count


def test_asking_at_the_same_moment_gives_one_scan(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    answers = in_threads(6, lambda: ask(repository).pk)
    assert len(answers) == 6
    assert len(set(answers)) == 1


def test_two_workers_at_the_same_moment_store_one_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_with(monkeypatch, lambda: make_report([make_result()]))
    scan_run = make_scan_run(make_repository())
    answers = in_threads(4, lambda: execute(scan_run))
    assert sorted(map(bool, answers)) == [False, False, False, True]
    assert FallbackSite.objects.count() == Result.objects.count() == 1


def test_a_scan_that_cannot_be_done_says_why_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> ScanReport:
        raise ScanError("The commit holds no Rust file.")

    answer_with(monkeypatch, fail)
    scan_run = make_scan_run(make_repository())
    assert not execute(scan_run)
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.failure_reason) == ("failed", "The commit holds no Rust file.")
    assert not FallbackSite.objects.exists()


def test_a_scanner_that_breaks_down_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down() -> ScanReport:
        raise ZeroDivisionError("by zero")

    answer_with(monkeypatch, break_down)
    scan_run = make_scan_run(make_repository())
    with pytest.raises(ZeroDivisionError):
        execute(scan_run)
    scan_run.refresh_from_db()
    assert scan_run.failure_reason == "The scanner broke down: ZeroDivisionError: by zero"


def test_a_failed_scan_is_tried_again_when_asked(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan_run = ask(repository)
    ScanRun.objects.filter(pk=scan_run.pk).update(
        state=RowState.FAILED, failure_reason="x", finished_at=Now(), attempts=3
    )
    again = ask(repository)
    assert (again.pk, again.state, again.attempts) == (scan_run.pk, "pending", 0)
    assert execute(again)


def test_a_worker_of_another_judge_does_not_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    scan_run = make_scan_run(make_repository())
    assert not execute(scan_run)
    scan_run.refresh_from_db()
    assert "Ask for a new scan" in scan_run.failure_reason


def test_a_database_that_restarts_while_the_scanner_works_costs_no_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lose_connection() -> ScanReport:
        with suppress(OperationalError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return make_report([make_result()])

    answer_with(monkeypatch, lose_connection)
    scan_run = make_scan_run(make_repository())
    assert execute(scan_run)
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.attempts, scan_run.result_count) == ("succeeded", 1, 1)


def test_progress_is_stored_while_the_scan_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    scan_run = make_scan_run(make_repository())
    seen: list[tuple[str, int, int]] = []
    answer_with(monkeypatch, make_report)

    def scan(*, scan_run: ScanRun, progress: Callable[[Progress], None], tell: object) -> object:
        progress(Progress("extract", 7, 9))
        for _ in range(200):
            scan_run.refresh_from_db()
            if scan_run.phase:
                break
            threading.Event().wait(0.02)
        seen.append((scan_run.phase, scan_run.done, scan_run.total))
        return scanned(make_report())

    monkeypatch.setattr(scanning, "commit_scan", scan)
    assert execute(scan_run)
    assert seen == [("extract", 7, 9)]


def test_a_lost_worker_s_scan_is_taken_up_and_ends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, lambda: make_report([make_result()]))
    scan_run = make_scan_run(make_repository())
    lost = lease_claim(model=ScanRun, pk=scan_run.pk)
    assert lost is not None
    assert not execute(scan_run), "the lease holds"
    ScanRun.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    assert lease_wake(model=ScanRun) == [scan_run.pk]
    assert execute(scan_run)
    with pytest.raises(LeaseLostError):
        lease_finish(row=scan_run, lease_id=lost, state=RowState.FAILED, reason="too late")
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.attempts) == ("succeeded", 2)


def test_a_scan_that_loses_three_workers_fails_with_the_reason() -> None:
    scan_run = make_scan_run(make_repository())
    for _ in range(3):
        assert lease_claim(model=ScanRun, pk=scan_run.pk) is not None
        ScanRun.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    assert lease_claim(model=ScanRun, pk=scan_run.pk) is None
    assert lease_give_up_lost(model=ScanRun) == 1
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.failure_reason) == ("failed", leases.LOST_REASON)


def test_a_row_is_not_sent_again_at_once() -> None:
    scan_run = make_scan_run(make_repository())
    assert lease_wake(model=ScanRun) == [scan_run.pk]
    assert lease_wake(model=ScanRun) == []
    ScanRun.objects.update(woken_at=Now() - leases.WAKE_AGAIN_AFTER - timedelta(seconds=1))
    assert lease_wake(model=ScanRun) == [scan_run.pk]


def test_a_cancelled_scan_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scan_run, ada = make_scan_run(make_repository()), make_user()

    def cancel() -> ScanReport:
        assert scan_runs.scan_run_cancel(scan_run=scan_run, actor=ada)
        return make_report([make_result()])

    answer_with(monkeypatch, cancel)
    assert not execute(scan_run)
    scan_run.refresh_from_db()
    assert (scan_run.state, scan_run.cancelled_by) == ("cancelled", ada)
    assert not FallbackSite.objects.exists()
    assert not scan_runs.scan_run_cancel(scan_run=scan_run, actor=ada)


def test_a_request_for_an_origin_is_fetched_and_becomes_a_scan(tree: Path) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
    (scan_run,) = scan_requests.scan_request_execute(pk=request.pk)
    request.refresh_from_db()
    assert (request.state, request.scan_run) == ("succeeded", scan_run)
    assert execute(scan_run)
    assert FallbackSite.objects.exists()


def test_a_request_that_cannot_be_met_says_why(tree: Path) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    request = scan_requests.scan_request_create(repository=repository, revision="nowhere", actor=None)
    assert scan_requests.scan_request_execute(pk=request.pk) == []
    request.refresh_from_db()
    assert request.state == "failed"
    assert "no revision `nowhere`" in request.failure_reason


def test_an_unreachable_origin_fails_the_request_with_its_address(tmp_path: Path) -> None:
    repository = repository_add(location=(tmp_path / "gone.git").as_uri(), actor=None)
    request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
    scan_requests.scan_request_execute(pk=request.pk)
    request.refresh_from_db()
    assert "gone.git" in request.failure_reason


def test_a_request_that_breaks_down_fails_with_the_reason(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    request = scan_requests.scan_request_create(repository=repository, revision="", actor=None)
    monkeypatch.setattr(scan_requests, "commit_locate", lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scan_requests.scan_request_execute(pk=request.pk)
    request.refresh_from_db()
    assert (request.state, "ZeroDivisionError" in request.failure_reason) == ("failed", True)


def test_repositories_of_one_name_added_at_the_same_moment_are_all_added(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) / "torch" for number in range(5)]
    for folder in folders:
        folder.mkdir(parents=True)
    waiting = [str(folder) for folder in folders]
    in_threads(5, lambda: repository_add(location=waiting.pop(), actor=None))
    assert set(Repository.objects.values_list("slug", flat=True)) == {
        "torch", "torch-2", "torch-3", "torch-4", "torch-5",
    }  # fmt: skip


def test_two_workers_that_fetch_one_origin_do_not_disturb_each_other(tree: Path) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    asked = [
        scan_requests.scan_request_create(repository=repository, revision=revision, actor=None).pk
        for revision in ("", "main", "HEAD")
    ]
    in_threads(3, lambda: scan_requests.scan_request_execute(pk=asked.pop()))
    failed = ScanRequest.objects.exclude(state="succeeded").values_list("failure_reason", flat=True)
    assert list(failed) == []


def test_the_same_wish_at_the_same_moment_is_one_request(tree: Path) -> None:
    repository = repository_add(location=tree.as_uri(), actor=None)
    answers = in_threads(
        5, lambda: scan_requests.scan_request_create(repository=repository, revision="main", actor=None).pk
    )
    assert len(answers) == 5
    assert len(set(answers)) == ScanRequest.objects.count() == 1


@pytest.mark.parametrize("revision", ["--upload-pack=x", "a b", "a\0b", "x" * 300])
def test_a_revision_that_git_would_read_otherwise_is_refused(tree: Path, revision: str) -> None:
    repository = repository_add(location=str(tree), actor=None)
    with pytest.raises(RevisionUnknownError):
        scan_requests.revision_check(repository=repository, revision=revision)


def test_a_plain_folder_has_no_revisions(tmp_path: Path) -> None:
    repository = repository_add(location=str(tmp_path), actor=None)
    with pytest.raises(RevisionUnknownError, match="plain folder"):
        scan_requests.revision_check(repository=repository, revision="main")


def test_a_folder_without_rust_says_so(tmp_path: Path) -> None:
    repository = repository_add(location=str(tmp_path), actor=None)
    with pytest.raises(ScanError, match="no Rust file"):
        ask(repository)


def test_a_repository_without_rust_fails_its_scan_with_the_reason(tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", {"README.md": "# Nothing\n"})
    scan_run = ask(repository_add(location=str(tmp_path / "tree"), actor=None))
    assert not execute(scan_run)
    scan_run.refresh_from_db()
    assert "no Rust file" in scan_run.failure_reason


def test_an_older_commit_does_not_turn_the_branch_back(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    older = ask(repository)
    commit_files(tree, {"minitorch-gpu/src/lib.rs": "pub fn nothing() {}\n"})
    newer = ask(repository)
    assert execute(newer)
    assert execute(older)
    older.refresh_from_db()
    assert (older.result_count > 0, older.applies_to_branch) == (True, False)
    assert not FallbackSite.objects.filter(states__isnull=False).exists()


def test_an_older_commit_finds_known_sites_and_moves_none(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    older = ask(repository)
    commit_files(tree, {"minitorch-gpu/src/lib.rs": f"mod other;\n{FALLBACK.replace('host', 'values')}"})
    newer = ask(repository)
    assert execute(newer)
    columns = ("path", "symbol", "partial_fingerprints", "form_commit_id")
    before = list(FallbackSite.objects.order_by("pk").values_list(*columns))
    assert execute(older)
    older.refresh_from_db()
    assert list(FallbackSite.objects.order_by("pk").values_list(*columns)) == before
    assert (older.new_count, older.updated_count + older.unchanged_count) == (0, older.result_count)


def test_a_file_whose_object_is_missing_is_in_the_manifest_and_closes_nothing(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    assert execute(ask(repository))
    open_before = SiteState.objects.filter(is_open=True).count()
    commit_files(tree, {"minitorch-gpu/src/lib.rs": FALLBACK + "// edited\n", "src/other.rs": "fn f() {}\n"})
    blob = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", "HEAD:minitorch-gpu/src/lib.rs"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
    scan_run = ask(repository)
    assert execute(scan_run)
    entry = scan_run.files.get(path="minitorch-gpu/src/lib.rs")
    assert (entry.status, bool(entry.reason)) == ("missing", True)
    assert SiteState.objects.filter(is_open=True).count() == open_before > 0


def test_a_clone_without_blobs_whose_origin_is_gone_says_what_is_missing(tree: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "-C", str(tree), "config", "uploadpack.allowFilter", "true"], check=True)
    partial = tmp_path / "partial.git"
    subprocess.run(
        ["git", "clone", "--quiet", "--bare", "--filter=blob:none", tree.as_uri(), str(partial)], check=True
    )
    shutil.rmtree(tree)
    scan_run = ask(repository_add(location=str(partial), actor=None))
    execute(scan_run)
    scan_run.refresh_from_db()
    assert set(scan_run.files.values_list("status", flat=True)) == {"missing"}
    assert "does not hold this object" in scan_run.files.earliest("id").reason


def test_a_file_that_is_not_utf8_is_in_the_manifest_with_the_reason(tree: Path) -> None:
    folder = tree / "minitorch-gpu"
    (folder / "src/latin1.rs").write_bytes(b"// caf\xe9\n")
    scan_run = ask(repository_add(location=str(folder), actor=None))
    assert execute(scan_run)
    entry = scan_run.files.get(path="src/latin1.rs")
    assert entry.status == "failed"
    assert "UTF-8" in entry.reason
    assert scan_run.results.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another owner")
def test_a_repository_of_another_owner_is_scanned(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        os.chown(path, 65534, 65534)
    scan_run = ask(repository_add(location=str(tree), actor=None))
    assert execute(scan_run)

"""Scanning the history of a branch: nothing lost, nothing doubled, whatever interrupts it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models import Model
from pytest_django import Settings

from audit.errors import AuditError
from audit.models import (
    Branch,
    BranchScan,
    CapabilityReading,
    FallbackSite,
    HeldSite,
    Lineage,
    Repository,
    Result,
    ScanRun,
    SiteEvent,
    SiteState,
)
from audit.services.backfill import BackfillProgress, backfill
from audit.services.line_storing import LineWriter
from audit.services.repositories import repository_add
from migrations_tracker.models import SiteMigration, Transition
from migrations_tracker.services.history import history_follow_up
from tests.audit.services.test_branch_history import (
    LIB,
    MANIFEST,
    REFUSING,
    SILENT,
    code,
    git,
    scan,
)
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a history of ten commits: a gap, a side branch, a regression, and one that changes no code."""
    tree = tmp_path / "minitorch"
    commit_files(tree, {"NOTES.txt": "before any code"})
    commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: "pub fn version() {}\n"})
    commit_files(tree, {LIB: code(relu=SILENT, gelu=SILENT)})
    commit_files(tree, {"NOTES.txt": "no code"})
    git(tree, "checkout", "--quiet", "-b", "topic")
    commit_files(tree, {"minitorch-gpu/src/other.rs": code(silu=SILENT)})
    git(tree, "checkout", "--quiet", "main")
    commit_files(tree, {LIB: "// moved down\n" + code(relu=REFUSING, gelu=SILENT)})
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(tree, *identity, "merge", "--quiet", "--no-ff", "-m", "Merge topic", "topic")
    commit_files(tree, {LIB: code(relu=SILENT, gelu=SILENT)})
    commit_files(tree, {LIB: code(gelu=REFUSING)})
    commit_files(tree, {"minitorch-gpu/src/third.rs": code(tanh=SILENT)})
    return tree


def run(repository: Repository, *, since: str = "", jobs: int = 1) -> BackfillProgress:
    return backfill(
        repository=repository,
        since=since,
        jobs=jobs,
        progress=lambda state: None,
        after_settling=history_follow_up,
    )


def history(repository: Repository) -> list[tuple[str, int, int, int, int]]:
    """Return the commits of main with what each changed."""
    rows = BranchScan.objects.filter(branch__repository=repository, branch__name="main").select_related(
        "scan_run__commit"
    )
    return [
        (
            row.scan_run.commit.object_id,
            row.open_count,
            row.new_count,
            row.reopened_count,
            row.closed_count,
        )
        for row in rows
    ]


def symbols(site_ids: Sequence[int]) -> list[str]:
    found = FallbackSite.objects.filter(pk__in=site_ids, rule_id="FT001").values_list("symbol", flat=True)
    return sorted(symbol.rpartition("::")[2] for symbol in found)


def assert_balanced() -> None:
    """Assert that no site is lost or doubled: each commit of a branch balances, and each closing is told."""
    for branch in Branch.objects.all():
        before: BranchScan | None = None
        for row in BranchScan.objects.filter(branch=branch):
            assert row.previous == before
            was_open = before.open_count if before is not None else 0
            assert row.open_count == was_open + row.new_count + row.reopened_count - row.closed_count
            assert row.scan_run.results.values("site").distinct().count() == row.scan_run.results.count()
            assert sum(row.tallies.filter(is_open=True).values_list("count", flat=True)) == row.open_count
            before = row
    for event in SiteEvent.objects.filter(kind="closed").select_related("branch_scan__scan_run__commit"):
        assert event.branch_scan.scan_run.commit.committed_at is not None
        assert event.outcome
    assert Lineage.objects.count() == Result.objects.count()


def test_every_commit_is_scanned_oldest_first_and_balances(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    state = run(repository)
    assert (state.total, state.done, len(state.failed)) == (10, 10, 1)
    assert_balanced()
    # Each silent fallback has no test, too: two sites a function. The merge brings what its branch had.
    assert [row[1:] for row in history(repository)] == [
        (0, 0, 0, 0),
        (4, 4, 0, 0),
        (4, 0, 0, 0),
        (3, 0, 0, 1),
        (5, 2, 0, 0),
        (6, 0, 1, 0),
        (3, 0, 0, 3),
        (5, 2, 0, 0),
    ]


def test_what_the_history_settled_is_migrated_by_the_scan_that_saw_it(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    status = {
        name: SiteMigration.objects.get(site__rule_id="FT001", site__symbol__endswith=f"::gpu_{name}").status
        for name in ("gelu", "relu", "tanh")
    }
    # The code of relu was removed in the end: whether that is right, a person says.
    assert status == {"gelu": "migrated", "relu": "open", "tanh": "open"}
    step = Transition.objects.get(site_migration__site__symbol__endswith="::gpu_gelu", to_status="migrated")
    assert (step.cause, "structured-error" in step.reason) == ("scanner", True)
    assert step.scan_run is not None
    closed = SiteEvent.objects.get(site__symbol__endswith="::gpu_gelu", site__rule_id="FT001", kind="closed")
    assert step.scan_run == closed.branch_scan.scan_run
    # A second run moves nothing.
    run(repository)
    assert Transition.objects.filter(to_status="migrated").count() == 1


def test_a_site_that_a_person_migrated_and_the_history_shows_open_is_reopened(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    migration = SiteMigration.objects.get(site__rule_id="FT001", site__symbol__endswith="::gpu_gelu")
    commit_files(tree, {LIB: code(gelu=SILENT)})
    run(repository)
    migration.refresh_from_db()
    assert migration.status == "reopened"


def test_a_commit_that_cannot_be_scanned_stays_a_gap_with_its_reason(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    state = run(repository)
    [reason] = state.failed.values()
    assert "Rust" in reason
    gap = ScanRun.objects.get(state="failed")
    assert gap.failure_reason == reason
    assert not BranchScan.objects.filter(scan_run=gap).exists()
    zero = ScanRun.objects.filter(state="succeeded").earliest("pk")
    assert (zero.result_count, BranchScan.objects.get(scan_run=zero).open_count) == (0, 0)


def test_a_site_that_comes_back_is_the_same_site_and_told_as_a_regression(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    [relu] = FallbackSite.objects.filter(rule_id="FT001", symbol__endswith="gpu_relu")
    events = SiteEvent.objects.filter(site=relu).order_by("branch_scan__position")
    assert list(events.values_list("kind", "outcome")) == [
        ("new", ""),
        ("closed", "structured-error"),
        ("reopened", ""),
        ("closed", "removed"),
    ]


def test_a_site_of_which_no_commit_tells_what_it_became_stays_open_and_held(tmp_path: Path) -> None:
    answer = 'Err(GpuError::InvalidArgument { message: format!("no kernel: {e}") })'
    start, end = SILENT.index("Err(_)"), SILENT.index("    };")
    as_text = f"{SILENT[:start]}Err(e) => return {answer},\n{SILENT[end:]}"
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT)})
    commit_files(tree, {LIB: code(relu=as_text)})
    commit_files(tree, {"NOTES.txt": "no code"})
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    [relu] = FallbackSite.objects.filter(rule_id="FT001")
    assert not relu.results.filter(scan_run__commit__object_id=history(repository)[-1][0]).exists()
    assert SiteState.objects.get(site=relu).is_open
    [held] = HeldSite.objects.all()
    assert (held.site, held.end) == (relu, "")
    assert held.drop.branch_scan.scan_run.commit.object_id == history(repository)[1][0]
    assert_balanced()


def test_the_states_of_the_branch_are_those_of_its_newest_commit(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    states = SiteState.objects.filter(branch__name="main")
    assert symbols(list(states.filter(is_open=True).values_list("site", flat=True))) == [
        "gpu_silu",
        "gpu_tanh",
    ]
    closed = {
        state.symbol.rpartition("::")[2]: state.outcome
        for state in states.filter(is_open=False, rule_id="FT001")
    }
    assert closed == {"gpu_relu": "removed", "gpu_gelu": "structured-error"}
    assert set(SiteMigration.objects.values_list("site", flat=True)) == set(
        states.values_list("site", flat=True)
    )
    newest = BranchScan.objects.latest("position")
    for is_open, rule_id, crate, outcome, count in newest.tallies.values_list(
        "is_open", "rule_id", "crate", "outcome", "count"
    ):
        listed = states.filter(is_open=is_open, rule_id=rule_id, crate=crate, outcome=outcome)
        assert listed.count() == count
    for state in states:
        first = SiteEvent.objects.filter(site=state.site).earliest("branch_scan__position")
        assert state.first_seen_scan == first.branch_scan.scan_run


def everything() -> list[list[dict[str, Any]]]:
    models: list[type[Model]] = [ScanRun, BranchScan, SiteEvent, Result, Lineage, SiteState, FallbackSite]
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def test_a_second_run_changes_nothing(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    before = [
        list(model.objects.order_by("pk").values()) for model in (BranchScan, SiteEvent, Result, SiteState)
    ]
    state = run(repository)
    assert state.kept == 9
    after = [
        list(model.objects.order_by("pk").values()) for model in (BranchScan, SiteEvent, Result, SiteState)
    ]
    assert after == before


def test_what_a_person_did_before_the_history_was_scanned_is_kept(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    known = {site.pk: (site.symbol, site.path) for site in FallbackSite.objects.all()}
    migrations = list(SiteMigration.objects.order_by("pk").values())
    results = list(Result.objects.order_by("pk").values())
    stored = [row["id"] for row in results]
    run(repository)
    assert_balanced()
    assert {site.pk: (site.symbol, site.path) for site in FallbackSite.objects.filter(pk__in=known)} == known
    assert list(SiteMigration.objects.filter(site__in=known).order_by("pk").values()) == migrations
    assert list(Result.objects.filter(pk__in=stored).order_by("pk").values()) == results
    newest = BranchScan.objects.filter(branch__name="main").latest("position")
    assert (newest.open_count, newest.new_count) == (5, 2)
    assert symbols(list(known)) == ["gpu_silu", "gpu_tanh"]


def test_a_history_that_was_interrupted_ends_as_one_that_was_not(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tree.with_name("whole")
    shutil.copytree(tree, whole)
    expected_of = repository_add(location=str(whole), actor=None)
    run(expected_of)
    repository = repository_add(location=str(tree), actor=None)
    store = LineWriter.store
    for stop_at in (3, 2, 4):
        left = stop_at

        def stopping(*arguments: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            store(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(LineWriter, "store", stopping)
        with pytest.raises(KeyboardInterrupt):
            run(repository)
    monkeypatch.setattr(LineWriter, "store", store)
    run(repository)
    assert history(repository) == history(expected_of)
    assert_balanced()


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_process_that_is_killed_is_gone_on_from(tmp_path: Path) -> None:
    tree = tmp_path / "long"
    modules = "".join(f"mod m{number};\n" for number in range(30))
    commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT) + modules})
    for number in range(30):
        commit_files(tree, {f"minitorch-gpu/src/m{number}.rs": code(**{f"op{number}": SILENT})})
    repository = repository_add(location=str(tree), actor=None)
    given = connection.settings_dict
    url = f"postgresql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}/{given['NAME']}"
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DATABASE_POOL_SIZE": "0",
        "SECRET_KEY": django_settings.SECRET_KEY,
        "DJANGO_SETTINGS_MODULE": "migrations_tracker.settings",
        "SCAN_CACHE_DIR": str(django_settings.SCAN_CACHE_DIR),
        "BROKER_URL": "memory://",
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "backfill", repository.slug, "--jobs", "2"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    wait_until(lambda: BranchScan.objects.count() >= 5)
    process.send_signal(signal.SIGSTOP)
    count = BranchScan.objects.count()
    process.kill()
    process.wait()
    assert 5 <= count < 31
    # The server notices that its client is gone only when it next writes to it.
    wait_until(lambda: _is_lock_free(repository))
    state = run(repository)
    assert state.kept >= 5
    assert_balanced()
    assert [row[1] for row in history(repository)] == [2 * (number + 1) for number in range(31)]


def _is_lock_free(repository: Repository) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_locks.database = pg_database.oid"
            " WHERE locktype = 'advisory' AND objid = %s AND datname = current_database()",
            [repository.pk],
        )
        return bool(cursor.fetchone()[0] == 0)


def test_a_parent_that_another_judge_scanned_last_does_not_confuse_what_became_of_its_sites(
    tmp_path: Path,
) -> None:
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT, gelu=SILENT)})
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    repository.profile = "generic"
    repository.save(update_fields=["profile"])
    other = scan(repository)
    repository.profile = ""
    repository.save(update_fields=["profile"])
    assert other.results.count() != 4
    commit_files(tree, {LIB: code(relu=SILENT, gelu=REFUSING)})
    run(repository)
    newest = BranchScan.objects.latest("position")
    [closed] = newest.events.filter(kind="closed")
    assert (closed.site.symbol, closed.outcome) == ("minitorch_gpu::gpu_gelu", "structured-error")
    assert symbols(list(newest.scan_run.results.values_list("site", flat=True))) == ["gpu_relu"]


@pytest.mark.parametrize("is_applied_again", [False, True], ids=["put back", "put back and on again"])
def test_the_history_of_a_branch_that_was_put_back_balances_from_its_first_commit(
    tmp_path: Path, *, is_applied_again: bool
) -> None:
    tree = tmp_path / "minitorch"
    commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT, gelu=SILENT)})
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    newest = commit_files(tree, {LIB: code(relu=REFUSING, gelu=SILENT)})
    scan(repository)
    git(tree, "reset", "--quiet", "--hard", "HEAD~1")
    scan(repository)
    if is_applied_again:
        git(tree, "reset", "--quiet", "--hard", newest)
        scan(repository)
    run(repository)
    assert_balanced()
    assert [row[1:] for row in history(repository)] == [(4, 4, 0, 0), (3, 0, 0, 1)][: 1 + is_applied_again]


def test_two_histories_of_one_repository_are_not_scanned_at_once(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(7203, %s)", [repository.pk])
        with pytest.raises(AuditError, match="already"):
            run(repository)
    finally:
        other.close()


def test_since_a_commit_it_is_the_first_one(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    revision = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", "HEAD~2"], capture_output=True, text=True, check=True
    ).stdout.strip()
    state = run(repository, since=revision)
    assert state.total == 3
    assert [row[1:] for row in history(repository)] == [(6, 6, 0, 0), (3, 0, 0, 3), (5, 2, 0, 0)]
    run(repository)
    assert_balanced()
    assert len(history(repository)) == 8
    assert history(repository)[-1][1:] == (5, 2, 0, 0)


def test_since_a_tag_with_hyphens_or_a_day(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    git(tree, "tag", "v1.0-rc1", "HEAD~1")
    git(tree, "tag", "2026-rc1", "HEAD")
    assert run(repository, since="v1.0-rc1").total == 2
    assert run(repository, since="2026-rc1").total == 1
    assert run(repository, since="2000-01-01").total == 10
    assert run(repository, since="9999-01-01").total == 0


@pytest.mark.parametrize(
    ("since", "said"),
    [
        ("2026-13-01", "`2026-13-01` is no day: write it as 2026-05-01."),
        ("v2.0-rc1", "no revision `v2.0-rc1`"),
        ("elsewhere", "The branch has no commit"),
    ],
)
def test_since_what_is_no_commit_of_the_branch_is_refused(tree: Path, since: str, said: str) -> None:
    repository = repository_add(location=str(tree), actor=None)
    git(tree, "checkout", "--quiet", "--orphan", "elsewhere")
    commit_files(tree, {"NOTES.txt": "another beginning"})
    git(tree, "checkout", "--quiet", "main")
    with pytest.raises(AuditError, match=re.escape(said)):
        run(repository, since=since)


def test_commits_of_a_merged_branch_are_scanned_and_move_no_branch(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    side = ScanRun.objects.get(state="succeeded", branch=None)
    assert not side.branch_scans.exists()
    silu = Result.objects.get(scan_run=side, rule_id="FT001", symbol__endswith="silu")
    assert silu.site.results.filter(scan_run__branch_scans__isnull=False).count() == 4
    assert silu.baseline_state == "new"


def test_a_scan_of_the_newest_commit_adds_what_its_code_can_do_and_moves_nothing(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    run(repository)
    newest = BranchScan.objects.latest("position").scan_run
    assert not CapabilityReading.objects.exists()
    kept = (BranchScan, SiteEvent, Result, Lineage, SiteState, FallbackSite)
    before = [list(model._default_manager.order_by("pk").values()) for model in kept]
    counts = (newest.result_count, newest.new_count, newest.absent_count)
    again = scan(repository)
    assert again == newest
    assert (again.result_count, again.new_count, again.absent_count) == counts
    assert CapabilityReading.objects.get().scan_run == newest
    assert [list(model._default_manager.order_by("pk").values()) for model in kept] == before


def test_what_goes_in_the_first_commit_of_a_history_is_no_site_of_it(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    revision = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", "HEAD~1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    state = run(repository, since=revision)
    assert not state.failed
    assert [row[1:] for row in history(repository)] == [(3, 3, 0, 0), (5, 2, 0, 0)]

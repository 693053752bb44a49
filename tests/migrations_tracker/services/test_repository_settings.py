"""Schedules: what the clock is told, and that it is done once."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler
from pytest_django import Settings

from audit.errors import AuditError
from audit.models import AskedBy, Repository, RowState, ScanRequest, ScanRun
from audit.services.repositories import repository_add
from audit.services.scan_requests import follow_request_create, scan_request_execute
from migrations_tracker.errors import PlanError
from migrations_tracker.selectors.schedules import schedule_of
from migrations_tracker.services.repository_settings import repository_configure
from tests.factories import make_repository
from tests.fixtures.worker import WorkerProcess
from tests.git import commit_files
from workers.celery import app

FILES = {"src/lib.rs": "fn f() {}\n", "Cargo.toml": '[package]\nname = "f"\nversion = "0.1.0"\n'}
PATIENCE_SECONDS = 60


def configure(repository: Repository, **changes: object) -> Repository:
    now: dict[str, object] = {"profile": "", "followed_branches": [], "schedule": "", "credentials": ""}
    return repository_configure(repository=repository, **{**now, **changes})  # type: ignore[arg-type]


@pytest.mark.django_db
def test_a_schedule_is_meant_in_the_team_s_time_zone(settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    repository = configure(make_repository(), schedule=" 30  6 * * 1-5 ")
    assert repository.schedule == "30 6 * * 1-5"
    view = schedule_of(repository=repository)
    assert view is not None
    assert (view.zone, view.words) == ("Asia/Tokyo", "At 06:30, Monday through Friday")
    there = view.next_at.astimezone(ZoneInfo("Asia/Tokyo"))
    assert (there.hour, there.minute) == (6, 30)
    assert there.isoweekday() <= 5


@pytest.mark.django_db
def test_a_schedule_that_is_taken_away_is_gone_from_the_clock() -> None:
    repository = configure(make_repository(), schedule="0 6 * * *")
    configure(repository, schedule="5 7 * * *")
    assert PeriodicTask.objects.filter(task__endswith="scan_follow").count() == 1
    repository = configure(repository)
    assert not PeriodicTask.objects.filter(task__endswith="scan_follow").exists()
    assert schedule_of(repository=repository) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": "every day"},
        {"schedule": "0 25 * * *"},
        {"schedule": "0 6 * * mooday"},
        {"schedule": "*/0 * * * *"},
        {"profile": "/etc/passwd"},
        {"followed_branches": ["--all"]},
        {"followed_branches": ["a b"]},
        {"followed_branches": [f"b{number}" for number in range(51)]},
        {"credentials": "hunter2"},
    ],
)
def test_what_can_not_be_set_changes_nothing(changes: dict[str, object]) -> None:
    repository = configure(make_repository(), schedule="0 6 * * *")
    with pytest.raises((PlanError, AuditError)):
        configure(repository, **{"followed_branches": ["main"], **changes})
    repository.refresh_from_db()
    assert (repository.schedule, repository.followed_branches) == ("0 6 * * *", [])
    assert PeriodicTask.objects.get(task__endswith="scan_follow").crontab.minute == "0"


@pytest.mark.django_db
def test_what_was_set_before_is_kept() -> None:
    repository = configure(make_repository(), schedule="0 6 * * *")
    configure(repository, schedule="0 7 * * *", followed_branches=["main", "release/*"])
    events = apps.get_model("audit", "RepositoryEvent")._default_manager.order_by("pgh_id")
    assert list(events.values_list("schedule", flat=True)) == ["", "0 6 * * *"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    commit_files(tree, FILES)
    for branch in ("release/1", "release/2", "topic"):
        subprocess.run(["git", "-C", str(tree), "switch", "--quiet", "--create", branch], check=True)
        commit_files(tree, {"src/lib.rs": f"// {branch}\nfn f() {{}}\n"})
    subprocess.run(["git", "-C", str(tree), "switch", "--quiet", "main"], check=True)
    return tree


@pytest.fixture
def places(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCAN_CACHE_DIR", "REPOSITORIES_DIR"):
        setattr(settings, name, tmp_path / name)
        monkeypatch.setenv(name, str(tmp_path / name))


def follow(repository: Repository) -> list[str]:
    request = follow_request_create(repository=repository, actor=None, asked_by=AskedBy.SCHEDULE)
    runs = scan_request_execute(pk=request.pk)
    request.refresh_from_db()
    assert request.state in {RowState.SUCCEEDED, RowState.FAILED}
    return [run.branch.name for run in runs if run.branch]


@pytest.mark.django_db
def test_the_newest_commit_of_each_followed_branch_is_scanned_once(tree: Path, places: None) -> None:
    for location in (tree.as_uri(), str(tree)):
        repository = configure(
            repository_add(location=location, actor=None), followed_branches=["release/*", "main"]
        )
        assert follow(repository) == ["main", "release/1", "release/2"]
        assert follow(repository) == ["main", "release/1", "release/2"]
        assert ScanRun.objects.filter(repository=repository).count() == 3
    commit_files(tree, {"src/lib.rs": "fn g() {}\n"})
    follow(repository)
    assert ScanRun.objects.filter(repository=repository).count() == 4


@pytest.mark.django_db
def test_without_a_choice_the_default_branch_is_followed(tree: Path, places: None) -> None:
    assert follow(repository_add(location=tree.as_uri(), actor=None)) == ["main"]


@pytest.mark.django_db
def test_branches_that_are_not_there_are_named(tree: Path, places: None) -> None:
    repository = configure(repository_add(location=str(tree), actor=None), followed_branches=["nowhere/*"])
    assert follow(repository) == []
    assert "no branch named `nowhere/*`" in ScanRequest.objects.get().failure_reason


@pytest.mark.django_db
def test_a_scan_that_failed_is_not_tried_again_by_the_clock(tree: Path, places: None) -> None:
    repository = repository_add(location=str(tree), actor=None)
    follow(repository)
    ScanRun.objects.update(state=RowState.FAILED, failure_reason="broken", finished_at=timezone.now())
    follow(repository)
    assert ScanRun.objects.get().state == RowState.FAILED


@pytest.mark.django_db
def test_a_request_that_is_still_open_is_shared() -> None:
    repository = make_repository()
    asked = {
        follow_request_create(repository=repository, actor=None, asked_by=AskedBy.SCHEDULE).pk
        for _ in range(3)
    }
    assert len(asked) == 1


@pytest.mark.django_db(transaction=True)
def test_the_clock_s_tick_fetches_and_scans_what_is_new(
    tree: Path, places: None, start_worker: Callable[..., WorkerProcess]
) -> None:
    start_worker()
    repository = configure(repository_add(location=tree.as_uri(), actor=None), schedule="* * * * *")
    scheduler = DatabaseScheduler(app=app)
    assert scheduler.tick() is not None
    assert not ScanRequest.objects.exists(), "it was not due yet"
    PeriodicTask.objects.filter(task__endswith="scan_follow").update(
        last_run_at=timezone.now() - timedelta(minutes=2)
    )
    scheduler = DatabaseScheduler(app=app)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ScanRun.objects.filter(state=RowState.SUCCEEDED).exists():
        assert time.monotonic() < deadline, list(ScanRequest.objects.values())
        scheduler.tick()
        time.sleep(0.1)
    request = ScanRequest.objects.earliest("id")
    assert (request.repository, request.asked_by, request.follows) == (repository, "schedule", True)
    assert request.scan_run == ScanRun.objects.get()

"""Device tests run by the clock: once a day, from the hour on that somebody set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from audit.models import Commit, Repository, RepositoryKind, ScanRun
from migrations_tracker.roles import Role
from migrations_tracker.services.nightly_verifications import nightlies_ask, nightly_set
from tests.factories import (
    PASSWORD,
    ingest,
    make_member,
    make_report,
    make_repository,
    make_result,
    make_user,
)
from tests.git import commit_files
from workers.errors import MachineryError
from workers.models import NightlyVerification, VerificationRequest

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository() -> Repository:
    made = make_repository()
    summary = ingest(made, make_report([make_result()]))
    made.branches.update(last_scan=summary.scan_run)
    return made


def at(day: int, hour: int) -> datetime:
    return datetime(2026, 1, day, hour, 5, tzinfo=UTC)


def test_it_is_asked_for_once_a_day_from_its_hour_on(repository: Repository) -> None:
    nightly_set(repository=repository, is_on=True, hour=2)
    asked = [
        nightlies_ask(now=at(day, hour)) for day, hour in ((1, 1), (1, 2), (1, 3), (1, 23), (2, 1), (2, 5))
    ]
    assert asked == [0, 1, 0, 0, 0, 1]
    wish = VerificationRequest.objects.latest("id")
    assert (wish.is_nightly, wish.target, wish.requested_by) == (True, "commit", None)


def test_what_is_off_is_not_asked_for(repository: Repository) -> None:
    nightly_set(repository=repository, is_on=True, hour=2)
    nightly_set(repository=repository, is_on=False, hour=2)
    assert nightlies_ask(now=at(1, 5)) == 0


def test_a_repository_without_a_scan_says_why_and_stops_no_other(repository: Repository) -> None:
    nightly_set(repository=make_repository("bare"), is_on=True, hour=0)
    nightly_set(repository=repository, is_on=True, hour=0)
    assert nightlies_ask(now=at(1, 5)) == 1
    assert "no finished scan" in NightlyVerification.objects.get(repository__slug="bare").failure_reason


@pytest.mark.parametrize("hour", [-1, 24])
def test_an_hour_that_is_none_is_refused(repository: Repository, hour: int) -> None:
    with pytest.raises(MachineryError, match="0 to 23"):
        nightly_set(repository=repository, is_on=True, hour=hour)


def test_the_schedule_is_set_by_who_may_change_the_repository(repository: Repository) -> None:
    person, client = make_user(), Client()
    assert client.login(username=person.username, password=PASSWORD)
    sent = {"repository": repository.slug, "is_on": "on", "hour": "4"}
    assert client.post("/verifications/nightly/", sent).status_code == 403
    make_member(person, Role.ADMINISTRATOR)
    assert client.post("/verifications/nightly/", sent).status_code == 302
    kept = NightlyVerification.objects.get(repository=repository)
    assert (kept.is_on, kept.hour, kept.is_after_scans) == (True, 4, False)
    page = client.get(f"/verifications/nightly/?repository={repository.slug}").content.decode()
    assert "from 4:00 UTC on" in page
    client.post("/verifications/nightly/", {**sent, "hour": "99"})
    kept.refresh_from_db()
    assert kept.hour == 4


def scanned(repository: Repository, object_id: str) -> ScanRun:
    """Have a scan of a commit stored, as a worker does."""
    commit = Commit.objects.create(repository=repository, object_id=object_id)
    return ingest(repository, make_report([make_result()]), commit=commit).scan_run


@pytest.fixture
def followed(tmp_path: Path) -> tuple[Repository, Path]:
    """A git repository whose new commits are verified, with its work tree."""
    commit_files(tmp_path / "work", {"a.rs": "fn a() {}"})
    made = make_repository("git", kind=RepositoryKind.GIT_PATH, location=str(tmp_path / "work"))
    nightly_set(repository=made, is_on=False, hour=2, is_after_scans=True)
    return made, tmp_path / "work"


def test_after_a_scan_what_changed_since_the_one_before_is_asked_for(
    followed: tuple[Repository, Path],
) -> None:
    repository, work = followed
    first = commit_files(work, {"b.rs": "fn b() {}"})
    scanned(repository, first)
    assert not VerificationRequest.objects.exists()
    second = commit_files(work, {"c.rs": "fn c() {}"})
    scanned(repository, second)
    (wish,) = VerificationRequest.objects.all()
    assert (wish.target, wish.text, wish.commit.object_id) == ("change", first, second)
    assert not wish.is_nightly


def test_a_scan_of_the_past_asks_for_nothing(followed: tuple[Repository, Path]) -> None:
    repository, work = followed
    first = commit_files(work, {"b.rs": "fn b() {}"})
    second = commit_files(work, {"c.rs": "fn c() {}"})
    commit_files(work, {"d.rs": "fn d() {}"})
    scanned(repository, first)
    scanned(repository, second)
    assert not VerificationRequest.objects.exists()


def test_after_a_scan_nothing_is_asked_for_where_nobody_wants_it(followed: tuple[Repository, Path]) -> None:
    repository, work = followed
    nightly_set(repository=repository, is_on=True, hour=2)
    for name in ("b.rs", "c.rs"):
        scanned(repository, commit_files(work, {name: "fn x() {}"}))
    assert not VerificationRequest.objects.exists()

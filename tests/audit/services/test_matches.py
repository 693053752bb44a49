"""Matches are stored by scans, corrected by people, and the capabilities follow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from pytest_django import Settings

from audit.errors import AuditError
from audit.models import CapabilityGap, CapabilityReading, MatchRuling, OperationMatch, Repository, ScanRun
from audit.parity.catalogue import Direction
from audit.parity.matching import Verdict
from audit.services import scan_requests, scan_runs
from audit.services.rederiving import capabilities_rederive
from audit.services.repositories import repository_add
from migrations_tracker.services import matches as service
from migrations_tracker.services.follow_up import gaps_follow_up, scan_run_follow_up
from migrations_tracker.services.matches import match_rule, match_unrule
from tests.audit.parity.states import sources
from tests.factories import make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

OPS = "ferrotorch-core/src/ops.rs"
LGAMMA = "ferrotorch_core::ops::lgamma"


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The scans whose capabilities a worker was asked to derive again."""
    found: list[int] = []
    monkeypatch.setattr(service, "_send", found.append)
    return found


@pytest.fixture
def tree(tmp_path: Path, settings: Settings) -> Path:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    commit_files(tmp_path / "tree", {path: text.decode() for path, text in sources().items()})
    return tmp_path / "tree"


@pytest.fixture
def repository(tree: Path) -> Repository:
    return repository_add(location=str(tree), actor=None)


@pytest.fixture
def scan(repository: Repository) -> Callable[[], ScanRun]:
    def run() -> ScanRun:
        commit, branch = scan_requests.commit_locate(repository=repository, revision="")
        scan_run = scan_requests.scan_run_request(
            repository=repository, commit=commit, branch=branch, actor=None
        )
        assert scan_runs.scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
        return scan_run

    return run


def rederive(scan_run: ScanRun) -> bool:
    return capabilities_rederive(scan_run_id=scan_run.pk, after=gaps_follow_up)


def lgamma() -> OperationMatch:
    return OperationMatch.objects.get(symbol=LGAMMA)


def test_a_scan_stores_each_operation_with_how_sure_its_match_is(scan: Callable[[], ScanRun]) -> None:
    scan()
    match = lgamma()
    assert (match.verdict, match.counterpart, match.kind) == ("matched", "torch.lgamma", "function")
    assert 90 <= match.confidence <= 100
    assert match.rule
    assert f"{match.path}:{match.line}" == f"{OPS}:15"


def test_the_next_scan_writes_only_what_changed(scan: Callable[[], ScanRun], tree: Path) -> None:
    first = scan()
    before = OperationMatch.objects.count()
    commit_files(tree, {OPS: "\n" + sources()[OPS].decode().replace("pub fn digamma", "pub fn digamma_of")})
    second = scan()
    assert lgamma().changed_by_scan == second
    assert OperationMatch.objects.get(symbol="ferrotorch_core::ops::digamma").is_seen is False
    assert OperationMatch.objects.get(symbol="ferrotorch_core::ops::digamma_of").verdict == "unmatched"
    assert OperationMatch.objects.filter(changed_by_scan=first, path=OPS).count() == 0
    assert OperationMatch.objects.filter(changed_by_scan=first).exists()
    assert OperationMatch.objects.count() == before + 1


def test_a_ruling_outranks_the_machine_and_the_gaps_follow(
    scan: Callable[[], ScanRun], ada: User, sent: list[int]
) -> None:
    scan_run = scan()
    match_rule(
        match=lgamma(),
        verdict=Verdict.MATCHED,
        counterpart="torch.erf",
        reason="the name misleads",
        actor=ada,
    )
    assert sent == [scan_run.pk]
    assert rederive(scan_run)
    assert not rederive(scan_run)
    assert lgamma().counterpart == "torch.lgamma"
    assert not scan_run.capabilities.filter(operator="aten::lgamma").exists()
    gap = CapabilityGap.objects.get(operator="aten::erf", dtype="float32", device="cuda")
    assert (gap.is_open, gap.migration.status) == (True, "open")
    old = CapabilityGap.objects.get(operator="aten::lgamma", dtype="float32", device="cuda")
    assert (old.is_open, old.outcome, old.migration.status) == (False, "", "open")
    match_unrule(match=lgamma(), actor=ada)
    assert rederive(scan_run)
    old.refresh_from_db()
    assert old.is_open
    events = apps.get_model("audit", "MatchRulingEvent")._default_manager
    assert events.filter(pgh_label="update").count() == 1


def test_a_ruling_holds_for_the_scans_that_come(
    scan: Callable[[], ScanRun], tree: Path, ada: User, sent: list[int]
) -> None:
    scan()
    match_rule(match=lgamma(), verdict=Verdict.NO_COUNTERPART, reason="private", actor=ada)
    commit_files(tree, {"README.md": "x\n"})
    later = scan()
    assert not later.capabilities.filter(operator="aten::lgamma").exists()
    assert later.capabilities.filter(operator="aten::exp").exists()


@pytest.mark.parametrize(
    ("verdict", "counterpart", "reason", "words"),
    [
        (Verdict.MATCHED, "aten::no_such_operator", "x", "has no `aten::no_such_operator`"),
        (Verdict.MATCHED, "", "x", "has no ``"),
        (Verdict.MATCHED, "aten::exp", " \0 ", "Say why"),
        (Verdict.UNMATCHED, "", "x", "Choose what"),
    ],
)
def test_a_ruling_that_says_nothing_is_refused(
    scan: Callable[[], ScanRun],
    ada: User,
    sent: list[int],
    verdict: Verdict,
    counterpart: str,
    reason: str,
    words: str,
) -> None:
    scan()
    with pytest.raises(AuditError, match=words):
        match_rule(match=lgamma(), verdict=verdict, counterpart=counterpart, reason=reason, actor=ada)
    assert (MatchRuling.objects.count(), sent) == (0, [])


def test_a_second_ruling_ends_the_first_and_the_database_keeps_one_in_force(
    scan: Callable[[], ScanRun], ada: User, sent: list[int]
) -> None:
    scan()
    for name in ("torch.erf", "torch.distributions.Gamma.log_prob"):
        match_rule(match=lgamma(), verdict=Verdict.MATCHED, counterpart=name, reason="r", actor=ada)
    newest, first = MatchRuling.objects.all()
    assert (newest.ended_at, first.ended_by) == (None, ada)
    with pytest.raises(IntegrityError), transaction.atomic():
        MatchRuling.objects.create(
            match=lgamma(),
            verdict="matched",
            counterpart="torch.exp",
            direction=Direction.FORWARD.value,
            reason="r",
            decided_by=ada,
        )


def test_a_lost_message_is_sent_again(
    scan: Callable[[], ScanRun], ada: User, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan_run = scan()
    match_rule(match=lgamma(), verdict=Verdict.INFRASTRUCTURE, reason="r", actor=ada)
    sent.clear()
    assert service.readings_wake_lost() == 0
    monkeypatch.setattr(service, "LOST_AFTER", timedelta())
    assert service.readings_wake_lost() == 1
    assert sent == [scan_run.pk]


def test_a_tree_that_can_not_be_read_leaves_the_capabilities_as_they_are(
    scan: Callable[[], ScanRun], ada: User, sent: list[int], tree: Path
) -> None:
    scan_run = scan()
    before = scan_run.capabilities.count()
    match_rule(match=lgamma(), verdict=Verdict.INFRASTRUCTURE, reason="r", actor=ada)
    tree.rename(tree.with_name("elsewhere"))
    assert not rederive(scan_run)
    assert scan_run.capabilities.count() == before
    assert CapabilityReading.objects.get().asked_again_at is None

"""What people judged of rules counts by form, and goes out as labels."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from audit.knowledge.labels import label_lines
from audit.models import FallbackSite, PrecedentKind, Repository, Result
from audit.scanner.report import Region
from audit.selectors.field_precision import FieldPrecision, field_precision, labels
from audit.services.precedents import precedent_record, precedents_end
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

NAMES = ("relu", "gelu", "silu", "tanh", "exp")


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def sites() -> dict[str, FallbackSite]:
    """Five sites of FT001: three of one form, two of another."""
    results = [
        make_result(f"minitorch_gpu::ops::{name}", line=10 * number, form="a" if number < 4 else "b")
        for number, name in enumerate(NAMES, 1)
    ]
    ingest(make_repository(), make_report(results))
    return {site.symbol.rpartition("::")[2]: site for site in FallbackSite.objects.all()}


def ruled(site: FallbackSite, kind: PrecedentKind, actor: User, decision: str = "") -> None:
    precedent_record(site=site, kind=kind, decision=decision, reason=f"Because {site.pk}.", actor=actor)


def precision(**narrowed: str) -> FieldPrecision:
    return field_precision(repositories=Repository.objects.all(), **narrowed)


def test_only_what_says_whether_it_is_a_site_counts(sites: dict[str, FallbackSite], ada: User) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    ruled(sites["gelu"], PrecedentKind.CATEGORY, ada, "A")
    ruled(sites["silu"], PrecedentKind.SEVERITY, ada, "note")
    ruled(sites["tanh"], PrecedentKind.SUPPRESSED, ada)
    ruled(sites["exp"], PrecedentKind.ACCEPTED, ada)
    found = precision(rule_id="FT001")
    assert [(row.form, row.judged, row.not_sites) for row in found.rows] == [("a", 2, 1), ("b", 1, 0)]
    assert (found.judged, found.not_sites) == (3, 1)
    assert found.percent == pytest.approx(200 / 3)
    assert precision(form="b").percent == 100
    assert precision(rule_id="FT008").percent is None


def test_a_ruling_that_ended_counts_no_more(sites: dict[str, FallbackSite], ada: User) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    precedents_end(site=sites["relu"], kinds=[PrecedentKind.NOT_A_SITE], because="Looked again.")
    assert precision().judged == 0


@pytest.mark.parametrize(
    ("kinds", "not_sites"),
    [
        ((PrecedentKind.CATEGORY, PrecedentKind.NOT_A_SITE), 1),
        ((PrecedentKind.NOT_A_SITE, PrecedentKind.CATEGORY), 0),
        ((PrecedentKind.ACCEPTED, PrecedentKind.CATEGORY), 0),
    ],
)
def test_a_site_counts_once_by_its_newest_ruling(
    sites: dict[str, FallbackSite], ada: User, kinds: tuple[PrecedentKind, ...], not_sites: int
) -> None:
    for kind in kinds:
        ruled(sites["relu"], kind, ada, "B" if kind == PrecedentKind.CATEGORY else "")
    found = precision(rule_id="FT001")
    assert (found.judged, found.not_sites) == (1, not_sites)
    assert len(list(labels(repository=Repository.objects.get()))) == 1


def test_repositories_that_are_not_asked_for_do_not_count(sites: dict[str, FallbackSite], ada: User) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    other = make_repository("other")
    found = field_precision(repositories=Repository.objects.filter(pk=other.pk), rule_id="FT001")
    assert found.judged == 0
    assert list(labels(repository=other)) == []


def test_a_label_holds_place_rule_verdict_and_reason(sites: dict[str, FallbackSite], ada: User) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    ruled(sites["exp"], PrecedentKind.ACCEPTED, ada)
    rows = [json.loads(line) for line in label_lines(labels(repository=Repository.objects.get()))]
    commit = sites["relu"].form_commit
    assert commit is not None
    assert rows[0] == {
        "path": "minitorch-gpu/src/ops.rs",
        "line": 10,
        "end_line": 13,
        "symbol": "relu",
        "rule": "silent-fallback",
        "form": "a",
        "verdict": "allowed",
        "why": f"Because {sites['relu'].pk}.",
        "commit": commit.object_id,
        "confidence": 1.0,
    }
    assert [(row["symbol"], row["verdict"]) for row in rows] == [("relu", "allowed"), ("exp", "violation")]


def test_a_label_ends_where_the_judged_commit_has_the_end(sites: dict[str, FallbackSite], ada: User) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    (before,) = labels(repository=sites["relu"].repository, rule_id="FT001")
    longer = make_result("minitorch_gpu::ops::relu", region=Region(10, 5, 99, 6), form="a")
    ingest(sites["relu"].repository, make_report([longer]))
    assert Result.objects.filter(site=sites["relu"], end_line=99, start_line=10).exists()
    assert list(labels(repository=sites["relu"].repository, rule_id="FT001")) == [before]
    assert before.end_line == 13


def test_labels_are_as_many_as_were_judged_and_narrow_alike(
    sites: dict[str, FallbackSite], ada: User
) -> None:
    for name in NAMES:
        ruled(sites[name], PrecedentKind.NOT_A_SITE, ada)
    repository = Repository.objects.get()
    for narrowed in ({}, {"rule_id": "FT001"}, {"form": "a"}, {"form": "b"}, {"rule_id": "FT008"}):
        assert len(list(labels(repository=repository, **narrowed))) == precision(**narrowed).judged
    assert list(labels(repository=repository, commit="0123456789")) == []


def test_the_command_writes_the_labels(sites: dict[str, FallbackSite], ada: User, tmp_path: Path) -> None:
    ruled(sites["relu"], PrecedentKind.NOT_A_SITE, ada)
    printed, file = StringIO(), tmp_path / "labels.jsonl"
    call_command("labels_export", "minitorch", "--rule", "FT001", stdout=printed)
    call_command("labels_export", "minitorch", "--output", str(file))
    assert json.loads(printed.getvalue())["verdict"] == "allowed"
    assert file.read_text(encoding="utf-8") == printed.getvalue()
    with pytest.raises(CommandError, match="no repository `nowhere`"):
        call_command("labels_export", "nowhere")
    with pytest.raises(CommandError, match="can't be written"):
        call_command("labels_export", "minitorch", "--output", str(tmp_path / "no" / "such"))

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.errors import AuditError
from audit.models import (
    Commit,
    FindingSite,
    ImportedAudit,
    ImportedFinding,
    Judgement,
    Repository,
    RepositoryKind,
    Standing,
    TextReference,
)
from audit.services.imported_audits import (
    Imported,
    audit_import,
    finding_judge,
    finding_site_add,
    imported_audit_match,
)
from tests.factories import ingest, make_report, make_repository, make_result, make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db

OPS = "fn relu() {\n" + "    let x = 1;\n" * 20 + "}\nfn gelu() {}\n"
DOCUMENT = """
| File | Line | Finding |
|---|---|---|
| src/ops.rs | 10 | GPU code falls back to the CPU, see #12 and PR #13. |
| src/ops.rs | 900 | GPU code falls back to the CPU beyond the end. |
| src/gone.rs | 1 | GPU code falls back to the CPU in no file. |
| src/ops.rs | 23 | GPU code falls back to the CPU where no rule reports it. |
| src/ops.rs | 10 | No documentation. |
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A git repository with one commit, which is scanned and has one site."""
    tree = tmp_path / "tree"
    object_id = commit_files(tree, {"minitorch-gpu/src/ops.rs": OPS, "Cargo.toml": ""})
    repository = make_repository(kind=RepositoryKind.GIT_PATH, location=str(tree / ".git"))
    scan(repository, object_id)
    return repository


def scan(repository: Repository, object_id: str, *symbols: str) -> None:
    commit, _ = Commit.objects.get_or_create(repository=repository, object_id=object_id)
    results = [make_result(symbol) for symbol in symbols or ("minitorch_gpu::ops::relu",)]
    ingest(repository, make_report(results, files=["minitorch-gpu/src/ops.rs"]), commit=commit)


def read(repository: Repository, text: str = DOCUMENT, **fields: str) -> Imported:
    commit = fields.pop("commit", None) or repository.commits.earliest("pk").object_id[:10]
    return audit_import(
        repository=repository,
        data=text.encode(),
        file_name=fields.pop("file_name", "old.md"),
        commit=commit,
        actor=make_user() if not fields.pop("again", "") else None,
        **fields,
    )


def standings() -> list[str]:
    return list(ImportedFinding.objects.order_by("position").values_list("standing", flat=True))


def test_each_finding_is_matched_unmatched_contradicted_or_of_another_subject(repository: Repository) -> None:
    read(repository)
    assert standings() == ["matched", "contradicted", "contradicted", "unmatched", "other-subject"]
    link = FindingSite.objects.get()
    assert (link.finding.position, link.placed_by) == (1, "line")
    assert ImportedFinding.objects.get(position=2).places[0]["text"] == "The file has 30 lines."


def test_importing_twice_doubles_nothing_and_a_changed_document_loses_nothing(repository: Repository) -> None:
    read(repository)
    judged = ImportedFinding.objects.get(position=2)
    finding_judge(finding=judged, judgement=Judgement.REFUTED, reason="too short", actor=make_user("bo"))
    again = read(repository, again="yes")
    assert [(one.added_count, one.kept_count, one.withdrawn_count) for one in again.uploads] == [(0, 5, 0)]
    rows = DOCUMENT.split("\n")
    changed = "\n".join([*rows[:3], "| src/ops.rs | 11 | GPU code falls back: new. |", *rows[4:]])
    third = read(repository, changed, again="yes").uploads[0]
    assert (third.added_count, third.kept_count, third.withdrawn_count) == (1, 4, 1)
    assert ImportedFinding.objects.count() == 6
    assert ImportedFinding.objects.get(is_withdrawn=True).title.startswith(
        "GPU code falls back to the CPU, see"
    )
    back = read(repository, again="yes").uploads[0]
    assert (back.added_count, back.kept_count, back.withdrawn_count) == (0, 5, 1)
    judged.refresh_from_db()
    assert judged.judgement == Judgement.REFUTED
    assert ImportedAudit.objects.count() == 1
    assert ImportedAudit.objects.get().uploads.count() == 4


def test_what_is_not_scanned_yet_waits_and_is_matched_by_the_scan(
    repository: Repository, tmp_path: Path
) -> None:
    later = commit_files(tmp_path / "tree", {"minitorch-gpu/src/new.rs": "fn a() {}\n"})
    read(repository, commit=later)
    assert set(standings()) == {Standing.PENDING}
    assert not imported_audit_match(audit=ImportedAudit.objects.get())
    scan(repository, later)
    assert "matched" in standings()
    assert ImportedAudit.objects.get().matched_scan is not None


def test_references_are_kept_both_ways(repository: Repository) -> None:
    read(repository)
    site = FindingSite.objects.get().site
    assert set(TextReference.objects.values_list("site_id", "kind", "target", "source")) == {
        (site.pk, "issue", "12", "finding"),
        (site.pk, "pull", "13", "finding"),
    }
    read(repository, again="yes")
    assert TextReference.objects.count() == 2


def test_rows_may_speak_of_commits_of_their_own(repository: Repository, tmp_path: Path) -> None:
    first = repository.commits.get().object_id
    later = commit_files(tmp_path / "tree", {"minitorch-gpu/src/new.rs": "fn a() {}\n"})
    text = (
        "file,line,finding,commit\n"
        f"src/ops.rs,10,GPU falls back to the CPU,\nsrc/ops.rs,11,GPU falls back to the CPU,{later[:9]}\n"
        "src/ops.rs,12,GPU falls back to the CPU,0000000\n"
    )
    imported = read(repository, text, file_name="x.csv")
    assert {audit.commit_object_id for audit in imported.audits} == {first, later}
    assert [one.line for one in imported.refused] == [4]


def test_an_issue_that_is_edited_stays_one_finding(repository: Repository) -> None:
    for body in ("src/ops.rs:10 falls back to the CPU on the GPU", "now src/ops.rs:11, CUDA data_vec"):
        issues = json.dumps([{"number": 7, "title": "A GPU op", "body": body, "state": "OPEN"}])
        read(repository, issues, file_name="issues.json", again="yes")
    finding = ImportedFinding.objects.get()
    assert (finding.reference, finding.places[0]["start"], finding.standing) == ("#7", 11, "matched")


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ("# nothing", {}, "No finding"),
        (DOCUMENT, {"commit": "feedbeef"}, "feedbeef"),
        ("{", {"file_name": "a.sarif"}, "Line 1, column 2"),
    ],
)
def test_a_document_that_cannot_be_kept_is_refused_and_nothing_is(
    repository: Repository, text: str, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        read(repository, text, **fields)
    assert not ImportedAudit.objects.exists()


def test_a_judgement_needs_a_reason_and_keeps_what_was_said_before(repository: Repository) -> None:
    read(repository)
    finding = ImportedFinding.objects.get(position=1)
    with pytest.raises(AuditError, match="reason"):
        finding_judge(finding=finding, judgement=Judgement.UPHELD, reason=" ", actor=make_user("bo"))
    finding_judge(finding=finding, judgement=Judgement.UPHELD, reason="seen", actor=make_user("bob"))
    finding_judge(finding=finding, judgement=Judgement.PARTLY, reason="half", actor=make_user("bea"))
    events = finding.events.order_by("pgh_id")  # type: ignore[attr-defined]
    assert [event.judgement for event in events] == ["", "upheld"]


def test_what_a_person_links_stays_when_findings_are_matched_again(repository: Repository) -> None:
    read(repository)
    finding = ImportedFinding.objects.get(position=4)
    site = FindingSite.objects.get().site
    finding_site_add(finding=finding, site=site, actor=make_user("bo"))
    with pytest.raises(AuditError, match="linked already"):
        finding_site_add(finding=finding, site=site, actor=make_user("bob"))
    assert imported_audit_match(audit=ImportedAudit.objects.get())
    assert FindingSite.objects.get(finding=finding).placed_by == "person"


def test_a_folder_has_only_the_states_that_were_scanned() -> None:
    folder = make_repository("plain")
    ingest(folder, make_report([make_result()]))
    object_id = folder.commits.get().object_id
    assert read(folder, commit=object_id[:20]).uploads[0].added_count == 5
    with pytest.raises(AuditError, match="no state of this folder"):
        read(folder, commit="abc", again="yes")

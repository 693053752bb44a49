"""A crate's page says what was read of it, and a file that changed is unread again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.errors import AuditError
from audit.models import AuditNote, Branch, Crate, FallbackSite, NoteSubject, Repository
from audit.scanner.report import FileStatus, ManifestEntry
from audit.selectors.crate_reading import FILES_SHOWN, crate_reading
from audit.services.audit_notes import audit_note_add
from audit.services.knowledge_entries import entry_create, entry_save
from migrations_tracker.roles import Role
from tests.factories import (
    ingest,
    make_capability,
    make_report,
    make_repository,
    make_result,
    make_user,
    store_capabilities,
)

CRATE = "minitorch-gpu"
OPS, OTHER = f"{CRATE}/src/ops.rs", f"{CRATE}/src/other.rs"


@pytest.fixture
def scanned(repository: Repository) -> Repository:
    ingest(repository, make_report([make_result()], files=[OTHER, "minitorch-core/src/lib.rs"]))
    return repository


def note(repository: Repository, reader: User, **changes: object) -> AuditNote:
    given: dict[str, object] = {
        "kind": NoteSubject.CRATE,
        "subject": CRATE,
        "revision": repository.branches.get().last_scan.commit.object_id[:9],  # type: ignore[union-attr]
        "read_on": timezone.localdate(),
        "paths": [OPS],
        "text": "The launch is there.",
    }
    return audit_note_add(repository=repository, reader=reader, **(given | changes))  # type: ignore[arg-type]


def test_a_file_is_read_until_its_content_changes(scanned: Repository, ada: User) -> None:
    kept = note(scanned, ada)
    assert kept.files == {OPS: hashlib.sha256(OPS.encode()).hexdigest()}
    crate, branch = Crate.objects.get(name=CRATE), Branch.objects.get()
    reading = crate_reading(crate=crate, branch=branch)
    assert [(file.path, file.is_read) for file in reading.files] == [(OTHER, False), (OPS, True)]
    assert (reading.files_read, reading.files_changed, reading.lines, reading.lines_read) == (1, 0, 60, 30)
    edited = ManifestEntry(OPS, "f" * 64, FileStatus.SCANNED, "", 900, 31)
    ingest(scanned, make_report([make_result()], files=[OTHER, edited]))
    reading = crate_reading(crate=crate, branch=Branch.objects.get())
    assert (reading.files_read, reading.files_changed) == (0, 1)


def test_a_crate_of_many_files_is_read_in_pages_and_counted_whole(
    repository: Repository,
    ada: User,
    root_client: Client,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    many = [f"{CRATE}/src/m{number:03}.rs" for number in range(FILES_SHOWN + 30)]
    ingest(repository, make_report([make_result()], files=[*many, f"{CRATE}x/src/lib.rs"]))
    for number in range(25):
        note(repository, ada, paths=[many[number]])
    crate, branch = Crate.objects.get(name=CRATE), Branch.objects.get()
    first = crate_reading(crate=crate, branch=branch)
    second = crate_reading(crate=crate, branch=branch, after=first.next)
    listed = [file.path for file in (*first.files, *second.files)]
    assert (len(first.files), second.next) == (FILES_SHOWN, "")
    assert sorted(listed) == sorted([*many, OPS])
    assert listed[-25:] == many[:25]
    assert (
        (first.file_count, first.files_read) == (len(many) + 1, 25) == (second.file_count, second.files_read)
    )
    for nonsense in ("9:x", "x", "1", ":"):
        assert crate_reading(crate=crate, branch=branch, after=nonsense).files
    page = reverse("crate-detail", args=[repository.slug, CRATE])
    assert 'rel="next"' in root_client.get(page).content.decode()
    for address in (page, f"{page}?after={first.next}"):
        with django_assert_max_num_queries(12):
            assert root_client.get(address).status_code == 200


def test_a_folder_stands_for_what_is_in_it(scanned: Repository, ada: User) -> None:
    assert set(note(scanned, ada, paths=[f"{CRATE}/"]).files) == {OPS, OTHER}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": " "}, "Write what you read"),
        ({"paths": ["nowhere.rs"]}, "no file or folder nowhere.rs"),
        ({"paths": [f"{CRATE}/src/op"]}, "no file or folder"),
        ({"revision": "ffffffff"}, "No finished scan"),
        ({"revision": ""}, "seven characters"),
        ({"subject": "nothing"}, "called nothing"),
        ({"kind": NoteSubject.OPERATOR, "subject": "aten::nothing"}, "called aten::nothing"),
    ],
)
def test_a_note_on_what_is_not_there_is_refused(
    scanned: Repository, ada: User, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        note(scanned, ada, **changes)
    assert not AuditNote.objects.exists()


def test_a_day_that_is_not_over_yet_is_refused(scanned: Repository, ada: User) -> None:
    # Not among the cases above: those are made hours before, at night, when they are run.
    with pytest.raises(AuditError, match="not over yet"):
        note(scanned, ada, read_on=timezone.localdate() + timedelta(days=1))
    assert not AuditNote.objects.exists()


def test_the_page_shows_notes_and_takes_them_from_those_who_may(
    scanned: Repository, root_client: Client
) -> None:
    reader = Client()
    reader.force_login(make_user("ruth", role=Role.READER))
    page = reverse("crate-detail", args=[scanned.slug, CRATE])
    add = reverse("audit-note-add", args=[scanned.slug, "crate", CRATE])
    commit = Branch.objects.get().last_scan.commit.object_id  # type: ignore[union-attr]
    given = {"commit": commit, "read_on": "2026-05-02", "paths": OPS, "text": "<script>x</script> read"}
    assert reader.post(add, given).status_code == 403
    assert add not in reader.get(page).content.decode()
    assert add in root_client.get(page).content.decode()
    answer = root_client.post(add, given)
    kept = AuditNote.objects.get()
    assert answer["Location"] == f"{page}#note-{kept.pk}"
    text = reader.get(page).content.decode()
    assert f'id="note-{kept.pk}"' in text
    assert "&lt;script&gt;x" in text
    assert "1 of 2 files and 30 of 60 lines are read" in text
    refused = root_client.post(add, {**given, "paths": "nowhere.rs"}, follow=True)
    assert "no file or folder nowhere.rs" in refused.content.decode()
    assert AuditNote.objects.count() == 1


def test_an_operator_has_notes_too(scanned: Repository, root_client: Client) -> None:
    store_capabilities(Branch.objects.get().last_scan, [make_capability()])  # type: ignore[arg-type]
    kept = note(scanned, make_user(), kind=NoteSubject.OPERATOR, subject="aten::exp")
    text = root_client.get(kept.get_absolute_url()).content.decode()
    assert "The launch is there." in text


def test_an_entry_is_shown_wherever_it_is_attached(
    scanned: Repository, root_client: Client, ada: User
) -> None:
    store_capabilities(Branch.objects.get().last_scan, [make_capability()])  # type: ignore[arg-type]
    site = FallbackSite.objects.get()
    attached = ["rule:FT001", "clause:F1", "op:aten::exp", f"crate:{CRATE}", f"site:{site.pk}"]
    entry = entry_create(actor=ada, title="How we mend it")
    pages = (
        reverse("rule-detail", args=["FT001"]),
        reverse("clause-detail", args=["F1"]),
        reverse("operator-detail", args=[scanned.slug, "aten::exp"]),
        reverse("crate-detail", args=[scanned.slug, CRATE]),
        site.get_absolute_url(),
    )
    entry_save(entry=entry, actor=ada, title="How we mend it", text="x", attached=attached, is_draft=True)
    for page in pages:
        assert entry.get_absolute_url() not in root_client.get(page).content.decode(), page
    entry_save(entry=entry, actor=ada, title="How we mend it", text="x", attached=attached, is_draft=False)
    for page in pages:
        assert entry.get_absolute_url() in root_client.get(page).content.decode(), page
    own = root_client.get(entry.get_absolute_url()).content.decode()
    for page in pages:
        assert f'href="{page}"' in own, page


def test_an_entry_of_another_repository_is_not_named_on_a_crates_page(
    scanned: Repository, root_client: Client, ada: User
) -> None:
    attached = [f"crate:{CRATE}"]
    other = make_repository("otherlib")
    ingest(other, make_report([make_result()]))
    entry = entry_create(actor=ada, title="Theirs", repository=other)
    entry_save(entry=entry, actor=ada, title="Theirs", text="x", attached=attached, is_draft=False)
    for repository, is_named in ((other, True), (scanned, False)):
        text = root_client.get(reverse("crate-detail", args=[repository.slug, CRATE])).content.decode()
        assert (entry.get_absolute_url() in text) == is_named

from __future__ import annotations

import html

import pytest
from django.contrib.auth.models import User
from django.db import ProgrammingError, transaction
from django.test import Client
from django.urls import reverse

from audit.errors import AuditError
from audit.models import EntryLink, EntryRevision, FallbackSite, KnowledgeEntry, Repository
from audit.selectors.entry_links import entries_broken
from audit.services.knowledge_entries import entry_create, entry_restore, entry_save
from audit.services.repository_policies import policy_clause_drop
from migrations_tracker.roles import Role
from migrations_tracker.selectors.entry_list import revision_diff
from tests.factories import make_member, make_own_policy, make_repository, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def mary() -> User:
    return make_user("mary")


def write(mary: User, text: str = "Look.", *, is_draft: bool = False, **fields: object) -> KnowledgeEntry:
    entry = entry_create(actor=mary, title="How")
    entry_save(entry=entry, actor=mary, title="How", text=text, is_draft=is_draft, **fields)  # type: ignore[arg-type]
    entry.refresh_from_db()
    return entry


def test_publishing_refuses_a_link_that_leads_nowhere_with_its_line(mary: User, site: FallbackSite) -> None:
    for link in ("rule:FT999", "clause:Z9", "site:99999", "op:aten::nothing_such", "entry:9", "nonsense"):
        with pytest.raises(AuditError, match=r"Line 2: .* leads nowhere"):
            write(mary, f"First.\n[[{link}]]")
    with pytest.raises(AuditError, match="Attached: "):
        write(mary, attached=["rule:FT999"])
    entry = write(
        mary, f"[[rule:ft001]] [[clause:f1]] [[site:{site.pk}]] [[op:aten::lgamma]]", attached=["rule:FT002"]
    )
    assert set(EntryLink.objects.filter(entry=entry).values_list("kind", "target", "origin")) == {
        ("rule", "FT001", "text"),
        ("clause", "F1", "text"),
        ("site", str(site.pk), "text"),
        ("op", "aten::lgamma", "text"),
        ("rule", "FT002", "attached"),
    }
    assert entries_broken() == []


def test_a_link_that_breaks_later_is_listed(mary: User, repository: Repository) -> None:
    crate = repository.crates.create(name="minitorch-old")
    entry = write(mary, "See [[crate:minitorch-old]].")
    assert entries_broken() == []
    crate.delete()
    assert [(one.entry, one.link) for one in entries_broken()] == [(entry, "[[crate:minitorch-old]]")]


def test_an_entry_that_others_lead_to_is_not_removed(mary: User) -> None:
    """Nothing does, and the database keeps its revisions from who would."""
    other = write(mary)
    with pytest.raises(ProgrammingError, match="Cannot delete rows"), transaction.atomic():
        other.delete()


def test_a_draft_changes_nothing_that_others_read(mary: User) -> None:
    entry = write(mary, "Old.")
    entry_save(entry=entry, actor=mary, title="New", text="[[rule:FT999]]", is_draft=True)
    entry.refresh_from_db()
    assert (entry.title, entry.text, entry.has_draft) == ("How", "Old.", True)


def test_restoring_adds_a_revision_and_loses_none(mary: User) -> None:
    entry = write(mary, "One.")
    entry_save(entry=entry, actor=mary, title="How", text="Two.", is_draft=False)
    entry_restore(entry=entry, number=1, actor=mary)
    entry.refresh_from_db()
    assert (entry.text, entry.latest_number) == ("One.", 3)
    assert EntryRevision.objects.get(number=3).restored_from == 1
    with pytest.raises(AuditError, match="no revision 9"):
        entry_restore(entry=entry, number=9, actor=mary)


def test_two_who_write_at_once_notice_each_other(mary: User) -> None:
    entry = write(mary)
    with pytest.raises(AuditError, match="while you wrote"):
        entry_save(entry=entry, actor=mary, title="x", text="y", is_draft=True, seen_number=0)


def test_who_was_overtaken_sees_what_saving_again_replaces(mary: User, root_client: Client) -> None:
    entry = write(mary, "One.\nTwo.")
    edit = reverse("entry-edit", args=[entry.pk])
    entry_save(entry=entry, actor=mary, title="How", text="One.\nTheirs.", is_draft=False)
    typed = {"title": "How", "text": "Mine.\nTwo.", "number": "1", "action": "publish"}
    response = root_client.post(edit, typed)
    text = response.content.decode()
    assert response.status_code == 422
    assert "Somebody saved revision 2 while you wrote" in text
    assert "<del>- Theirs.</del>" in text
    assert "<ins>+ Mine.</ins>" in text
    assert 'name="number" value="2"' in text
    assert "Mine.\nTwo.</textarea>" in text
    assert root_client.post(edit, {**typed, "number": "2"}).status_code == 302
    assert list(entry.revisions.order_by("number").values_list("text", flat=True)) == [
        "One.\nTwo.",
        "One.\nTheirs.",
        "Mine.\nTwo.",
    ]


def test_what_somebody_attached_meanwhile_is_not_dropped_unseen(mary: User, root_client: Client) -> None:
    entry = write(mary, "One.")
    edit = reverse("entry-edit", args=[entry.pk])
    entry_save(entry=entry, actor=mary, title="How", text="One.", attached=["rule:FT002"], is_draft=False)
    typed = {"title": "How", "text": "One.", "number": "1", "action": "publish"}
    text = root_client.post(edit, typed).content.decode()
    assert "Attached to: rule:FT002</del>" not in text
    assert "rule:FT002</textarea>" in text
    assert root_client.post(edit, {**typed, "number": "2"}).status_code == 302
    assert not entry.links.exists()
    restore = reverse("entry-restore", args=[entry.pk])
    root_client.post(restore, {"revision": "2", "number": "2"})
    assert not entry.links.exists(), "revision 3 came since"
    root_client.post(restore, {"revision": "2", "number": "3"})
    assert [str(link) for link in entry.links.all()] == ["rule:FT002"]


def test_who_was_overtaken_keeps_what_they_attached_and_took_away(mary: User, root_client: Client) -> None:
    entry = write(mary, "One.")
    edit = reverse("entry-edit", args=[entry.pk])
    given = {"title": "How", "text": "One.", "tags": "a, b", "attached": "rule:FT001\nrule:FT002"}
    assert root_client.post(edit, {**given, "number": "1", "action": "publish"}).status_code == 302
    theirs = {**given, "tags": "a, b, theirs", "attached": f"{given['attached']}\nrule:FT003"}
    assert root_client.post(edit, {**theirs, "number": "2", "action": "publish"}).status_code == 302
    mine = {**given, "tags": "b, mine", "attached": "rule:FT002\nrule:FT004", "number": "2"}
    text = root_client.post(edit, {**mine, "action": "publish"}).content.decode()
    assert "rule:FT002\nrule:FT003\nrule:FT004</textarea>" in text
    assert 'value="b, theirs, mine"' in text
    assert "<ins>+ Attached to: rule:FT002, rule:FT003, rule:FT004</ins>" in text


def test_a_form_that_does_not_say_what_it_showed_overtakes_nothing(mary: User, root_client: Client) -> None:
    entry = write(mary, "One.")
    edit, restore = (reverse(name, args=[entry.pk]) for name in ("entry-edit", "entry-restore"))
    typed = {"title": "How", "text": "Mine.", "action": "publish"}
    response = root_client.post(edit, typed)
    assert response.status_code == 422
    assert 'name="number" value="1"' in response.content.decode()
    root_client.post(restore, {"revision": "1"})
    entry.refresh_from_db()
    assert (entry.text, entry.latest_number) == ("One.", 1)


def test_a_draft_keeps_what_it_is_to_be_attached_to(mary: User, root_client: Client) -> None:
    entry = write(mary, "One.")
    edit = reverse("entry-edit", args=[entry.pk])
    typed = {"title": "How", "text": "Two.", "number": "1", "attached": "rule:FT002", "action": "draft"}
    assert root_client.post(edit, typed).status_code == 302
    assert not entry.links.exists()
    assert "rule:FT002</textarea>" in root_client.get(edit).content.decode()
    for number, line in ((2, "nonsense"), (3, "nonsense")):
        assert root_client.post(edit, {**typed, "number": number, "attached": line}).status_code == 302
        assert ">\nnonsense</textarea>" in root_client.get(edit).content.decode()
    too_long = root_client.post(edit, {**typed, "number": 4, "attached": "rule:" + "x" * 400})
    assert too_long.status_code == 422


def test_pages_hide_drafts_and_show_what_is_published(
    mary: User, ada_client: Client, root_client: Client, site: FallbackSite
) -> None:
    hidden = write(mary, "Secret.", is_draft=True)
    entry = write(mary, f"<script>alert(1)</script> [[site:{site.pk}]]", tags=["GPU memory"])
    assert ada_client.get(hidden.get_absolute_url()).status_code == 404
    assert root_client.get(hidden.get_absolute_url()).status_code == 200
    page = ada_client.get(entry.get_absolute_url()).content.decode()
    assert f'href="{site.get_absolute_url()}"' in page
    assert "<script>alert" not in page
    assert (
        entry.get_absolute_url()
        in ada_client.get(reverse("entry-list"), {"tag": "gpu-memory"}).content.decode()
    )
    assert (
        hidden.get_absolute_url()
        not in ada_client.get(reverse("entry-list"), {"drafts": "1"}).content.decode()
    )
    assert ada_client.get(reverse("entry-edit", args=[entry.pk])).status_code == 403
    assert ada_client.post(reverse("entry-restore", args=[entry.pk]), {"revision": 1}).status_code == 403
    assert entry.get_absolute_url() in ada_client.get(site.get_absolute_url()).content.decode()


def test_an_entry_is_written_previewed_published_and_compared(root_client: Client) -> None:
    add = reverse("entry-add")
    given = {"title": "T", "text": "# Hello\n[[rule:FT999]]"}
    preview = root_client.post(add, {**given, "action": "preview"})
    assert "broken-link" in preview.content.decode()
    assert root_client.post(add, {**given, "action": "publish"}).status_code == 422
    assert not KnowledgeEntry.objects.exists()
    assert root_client.post(add, {**given, "text": "a\nb", "action": "publish"}).status_code == 302
    entry = KnowledgeEntry.objects.get()
    edit = reverse("entry-edit", args=[entry.pk])
    assert root_client.get(edit).status_code == 200
    root_client.post(edit, {"title": "T", "text": "a\nc", "number": 1, "action": "publish"})
    history = root_client.get(reverse("entry-history", args=[entry.pk]), {"revision": "2"}).content.decode()
    assert "<ins>+ c</ins>" in history
    assert "<del>- b</del>" in history


def test_a_link_to_a_repository_s_own_clause_says_of_which_and_is_checked(
    mary: User, root_client: Client, repository: Repository
) -> None:
    with pytest.raises(AuditError, match="it is a clause of a repository"):
        write(mary, "[[clause:P1]]")
    with pytest.raises(AuditError, match="leads nowhere"):
        write(mary, "[[clause:minitorch:P1]]")
    make_own_policy(repository, make_user("hedy"))
    clause = reverse("repository-clause", args=["minitorch", "P1"])
    everywhere = write(mary, "[[clause:minitorch:p1]]")
    own = entry_create(actor=mary, title="Solver", repository=repository)
    entry_save(entry=own, actor=mary, title="Solver", text="[[clause:p1]]", is_draft=False)
    for entry in (everywhere, own):
        assert f'href="{clause}"' in root_client.get(entry.get_absolute_url()).content.decode()
        assert entry.get_absolute_url() in root_client.get(clause).content.decode()
    other = entry_create(actor=mary, title="Parser", repository=make_repository("othertorch"))
    with pytest.raises(AuditError, match="leads nowhere"):
        entry_save(entry=other, actor=mary, title="Parser", text="[[clause:P1]]", is_draft=False)
    assert entries_broken() == []
    policy_clause_drop(repository=repository, clause_id="P1", reason="Gone.", actor=mary, based_on=2)
    assert {one.entry for one in entries_broken()} == {everywhere, own}


def test_a_lead_of_one_repository_writes_entries_of_it_alone(repository: Repository) -> None:
    other = make_repository("othertorch")
    grace = make_user("grace", role=None)
    make_member(grace, Role.LEAD, repository)
    make_member(grace, Role.READER, other)
    client = Client()
    client.force_login(grace)
    add = reverse("entry-add")
    assert f'href="{add}"' in client.get(reverse("entry-list")).content.decode()
    assert "about all" not in client.get(add).content.decode()
    assert client.get(add, {"repository": "othertorch"}).status_code == 403
    page = client.get(add, {"repository": "minitorch"}).content.decode()
    assert '<option value="minitorch" selected>' in page
    assert "othertorch" not in page
    given = {"title": "T", "text": "Look.", "action": "draft"}
    assert client.post(add, given).status_code == 422
    assert client.post(add, {**given, "repository": "othertorch"}).status_code == 403
    # An address that names one repository and a form that names another belong to neither.
    for sent in ("", "othertorch"):
        assert client.post(f"{add}?repository=minitorch", {**given, "repository": sent}).status_code in {
            403,
            404,
            422,
        }
    assert not KnowledgeEntry.objects.exists()
    assert client.post(add, {**given, "repository": "minitorch"}).status_code == 302
    entry = KnowledgeEntry.objects.get()
    assert entry.repository == repository
    drafts = client.get(reverse("entry-list"), {"drafts": "1"}).content.decode()
    assert entry.get_absolute_url() in drafts
    assert client.get(reverse("entry-edit", args=[entry.pk])).status_code == 200
    hidden = entry_create(actor=grace, title="Other", repository=other)
    entry_save(entry=hidden, actor=grace, title="Other", text="x", is_draft=True)
    assert (
        hidden.get_absolute_url() not in client.get(reverse("entry-list"), {"drafts": "1"}).content.decode()
    )


def test_who_leads_all_repositories_writes_for_all_or_for_one(
    root_client: Client, repository: Repository
) -> None:
    add = reverse("entry-add")
    assert "None: it is about all" in html.unescape(root_client.get(add).content.decode())
    for slug in ("", "minitorch"):
        sent = {"title": "T", "text": "Look.", "action": "publish", "repository": slug}
        assert root_client.post(add, sent).status_code == 302
    assert [entry.repository for entry in KnowledgeEntry.objects.order_by("pk")] == [None, repository]


def test_revisions_that_differ_in_too_many_lines_are_shown_whole() -> None:
    times = 500
    old = EntryRevision(title="T", text="first\n" + "a\nb\n" * times + "last")
    new = EntryRevision(title="T", text="first\n" + "b\na\nc\n" * times + "last")
    lines = revision_diff(before=old, after=new)
    assert "lines differ" in lines[0].text
    kinds = [line.kind for line in lines[1:]]
    assert kinds == ["removed"] * 2 * times + ["added"] * 3 * times
    few = revision_diff(before=old, after=EntryRevision(title="T", text=f"{old.text}\nmore"))
    assert [line.text for line in few if line.kind] == ["more"], "what both share at the ends does not count"
    many = EntryRevision(title="T", text="\n".join(f"new {number}" for number in range(1000)))
    all_other = revision_diff(
        before=EntryRevision(title="T", text=many.text.replace("new", "old")), after=many
    )
    assert "lines differ" not in all_other[0].text, "lines that are nowhere else cost little"

"""What is in a repository without a role in it shows nowhere: on no page, in no answer, in no correction."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import (
    FallbackSite,
    KnowledgeEntry,
    NoteSubject,
    Precedent,
    PrecedentKind,
    PrecedentOpinion,
    Repository,
    Stance,
)
from audit.services.audit_notes import audit_note_add
from audit.services.imported_audits import audit_import
from audit.services.knowledge_entries import entry_create, entry_save
from audit.services.precedents import precedent_opinion_add, precedent_record
from migrations_tracker.models import WorkUnit
from migrations_tracker.roles import OPERATIONS, Role, Scope
from migrations_tracker.services.api_tokens import api_token_create
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.search import search_refresh
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user
from tests.migrations_tracker.views.test_access import addresses
from tests.migrations_tracker.views.test_links import crawl

__all__ = ["addresses"]

# In everything of the hidden repository, and in nothing else.
SECRET = "zygomorph"
SITE = f"{SECRET}_gpu::ops::{SECRET}_relu"


class Listening(Client):
    """A client that keeps which addresses answered with the secret."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self.force_login(user)
        self.told: set[str] = set()

    def get(self, path: str, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Ask, and listen."""
        response = super().get(path, *args, **kwargs)
        body = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
        if SECRET in body.decode(errors="replace").lower():
            self.told.add(path)
        return response


@pytest.fixture
def hidden(addresses: dict[str, str], site: FallbackSite) -> FallbackSite:
    """A repository with everything that people know of one, tied to the other wherever that can be."""
    repository = make_repository(f"{SECRET}lib")
    ruth = make_user("ruth-of-all", role=Role.ADMINISTRATOR)
    ingest(repository, make_report([make_result(SITE)]))
    found = FallbackSite.objects.get(symbol=SITE)
    comment_create(subject=found, author=ruth, text=f"{SECRET} #12")
    audit_note_add(
        repository=repository,
        kind=NoteSubject.CRATE,
        subject=f"{SECRET}-gpu",
        revision=found.form_commit.object_id[:9],  # type: ignore[union-attr]
        read_on=found.created_at.date(),
        paths=[found.path],
        text=SECRET,
        reader=ruth,
    )
    table = f"| Place | Finding |\n| --- | --- |\n| {found.path}:10 | {SECRET} falls back to the CPU |\n"
    audit_import(
        repository=repository,
        name=SECRET,
        data=table.encode(),
        file_name="audit.md",
        actor=ruth,
        commit=found.form_commit.object_id,  # type: ignore[union-attr]
    )
    theirs = precedent_record(site=found, kind=PrecedentKind.ACCEPTED, reason=f"{SECRET} #7", actor=ruth)
    ours = precedent_record(site=site, kind=PrecedentKind.NOT_A_SITE, reason="Shape data.", actor=ruth)
    precedent_opinion_add(
        precedent=ours, site=found, stance=Stance.DIFFER, reason=f"{SECRET} differs", actor=ruth
    )
    plan_propose(repository=repository, actor=None)
    attached = ["rule:FT001", "clause:F1", "op:aten::exp", f"site:{site.pk}", f"site:{found.pk}"]
    secret = _entry(ruth, f"{SECRET} entry", SECRET, attached, repository)
    text = f"[[site:{found.pk}]] [[precedent:{theirs.pk}]] [[crate:{SECRET}-gpu]] [[entry:{secret.pk}]]"
    # The names in brackets are its author's words; what is behind a number is not.
    _entry(ruth, "Everybody's", text.replace(f"[[crate:{SECRET}-gpu]] ", ""), attached, None)
    search_refresh()
    return found


def _entry(
    author: User, title: str, text: str, attached: list[str], repository: Repository | None
) -> KnowledgeEntry:
    entry = entry_create(actor=author, title=title, repository=repository)
    entry_save(entry=entry, actor=author, title=title, text=text, attached=attached, is_draft=False)
    return entry


def starts(addresses: dict[str, str], site: FallbackSite) -> list[str]:
    entry = KnowledgeEntry.objects.get(repository=None)
    return [
        *addresses.values(),
        entry.get_absolute_url(),
        reverse("entry-list"),
        reverse("entry-history", args=[entry.pk]),
        reverse("precedent-list"),
        reverse("precedent-contradictions"),
        Precedent.objects.get(site=site).get_absolute_url(),
        reverse("imported-audit-list"),
        reverse("crate-detail", args=["minitorch", "minitorch-gpu"]),
        reverse("label-export", args=["minitorch"]),
        *(f"/search/?q={word}" for word in ("zygomorf", "zygomorpg_relu", "relu", "differs")),
    ]


@pytest.mark.parametrize("role", [Role.READER, Role.LEAD])
def test_no_page_tells_of_a_repository_in_which_one_has_no_role(
    addresses: dict[str, str], site: FallbackSite, hidden: FallbackSite, role: Role
) -> None:
    bob = make_user("bob", role=None)
    make_member(bob, role, site.repository)
    client = Listening(bob)
    list(crawl(client, starts(addresses, site)))
    assert not client.told


def test_an_administrator_is_told_on_each_of_these_pages(
    addresses: dict[str, str], site: FallbackSite, hidden: FallbackSite
) -> None:
    client = Listening(make_user("root2", is_superuser=True))
    entry = KnowledgeEntry.objects.get(repository=None)
    pages = (
        entry.get_absolute_url(),
        reverse("entry-list"),
        reverse("rule-detail", args=["FT001"]),
        reverse("form-detail", args=["failed-attempt"]).replace("failed-attempt", "early-return"),
        reverse("clause-detail", args=["F1"]),
        site.get_absolute_url(),
        Precedent.objects.get(site=site).get_absolute_url(),
        "/search/?q=relu",
        "/search/?q=zygomorf",
    )
    for page in pages:
        assert client.get(page).status_code == 200
    assert set(pages) - client.told == {pages[3]}


@pytest.mark.parametrize("word", [SECRET, "zygomorf", "zygomorphrelu"])
def test_a_word_of_a_hidden_repository_is_as_one_that_nobody_wrote(
    addresses: dict[str, str], site: FallbackSite, hidden: FallbackSite, word: str
) -> None:
    bob = make_user("bob", role=None)
    make_member(bob, Role.READER, site.repository)
    client = Client()
    client.force_login(bob)
    answers = [
        client.get(f"/api/search?q={asked}").json() for asked in (word, word.replace("zyg", "qxw") + "q")
    ]
    assert [(answer["total"], answer["asked_instead"]) for answer in answers] == [(0, {})] * 2


def test_no_answer_of_the_api_tells_of_a_repository_in_which_one_has_no_role(
    addresses: dict[str, str], site: FallbackSite, hidden: FallbackSite
) -> None:
    bob = make_user("bob", role=None)
    make_member(bob, Role.LEAD, site.repository)
    token = api_token_create(owner=bob, name="CI")[1]
    own = WorkUnit.objects.filter(plan__repository=site.repository).earliest("pk")
    numbers = {"/sites": site.pk, "/units": own.pk, "/scans": site.first_seen_scan_id}
    for operation, need in OPERATIONS.items():
        method, path = operation.split(" ", 1)
        if method != "GET" or need.scope is Scope.PUBLIC:
            continue
        pk = next((number for start, number in numbers.items() if path.startswith(start)), 1)
        key = "md" if "files" in path else "FT001" if "rules" in path else "F1"
        for slug, number in ((site.repository.slug, pk), (f"{SECRET}lib", hidden.pk)):
            filled = path.format(slug=slug, pk=number, key=key, number=1)
            response = Client().get(f"/api/v1{filled}", headers={"Authorization": f"Bearer {token}"})
            body = b"".join(response) if response.streaming else response.content
            # An error repeats the address that was asked for.
            assert SECRET not in body.decode().replace(f"{SECRET}lib", "")


def test_the_lead_of_one_repository_rules_on_no_site_of_another(
    addresses: dict[str, str], site: FallbackSite, hidden: FallbackSite
) -> None:
    bob = make_user("bob", role=None)
    make_member(bob, Role.LEAD, site.repository)
    client = Client()
    client.force_login(bob)
    ours = Precedent.objects.get(site=site)
    address, before = reverse("precedent-opinion", args=[ours.pk]), PrecedentOpinion.objects.count()
    given: dict[str, object] = {"site": hidden.pk, "stance": "agree", "reason": "same"}
    assert client.post(address, given).status_code == 404
    make_member(bob, Role.READER, hidden.repository)
    assert client.post(address, given).status_code == 403
    assert PrecedentOpinion.objects.count() == before
    assert not Precedent.objects.filter(site=hidden, kind=PrecedentKind.NOT_A_SITE).exists()
    make_member(bob, Role.LEAD, hidden.repository)
    given["seen"] = Precedent.objects.get(site=hidden).pk
    assert client.post(address, given).status_code == 302
    assert Precedent.objects.filter(site=hidden, kind=PrecedentKind.NOT_A_SITE).exists()

"""Sites and what is named together with them, from the texts as they are."""

from __future__ import annotations

import pytest

from audit.models import FallbackSite, ReferenceSource, TextReference
from audit.services.knowledge_entries import entry_create, entry_save
from audit.services.references import message_references_store
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def site() -> FallbackSite:
    ingest(make_repository(), make_report([make_result()]))
    return FallbackSite.objects.get()


def named() -> set[tuple[str, str]]:
    return set(TextReference.objects.values_list("kind", "target"))


def test_a_commits_message_ties_sites_to_the_commit_and_to_what_else_it_names(site: FallbackSite) -> None:
    messages = {COMMIT: f"Refuse float16 at site {site.pk} (#34)\n\nSee PR #7.", "f" * 40: "Tidy up (#35)"}
    for _ in range(2):
        message_references_store(repository=site.repository, messages=messages)
        assert named() == {("commit", COMMIT), ("issue", "34"), ("pull", "7")}
    assert set(TextReference.objects.values_list("source", flat=True)) == {ReferenceSource.MESSAGE.value}


def test_a_message_about_a_site_of_another_repository_ties_nothing(site: FallbackSite) -> None:
    other = make_repository("other")
    message_references_store(repository=other, messages={COMMIT: f"Mend site {site.pk} (#34)"})
    assert named() == set()


def test_what_an_entry_names_no_more_is_not_named(site: FallbackSite) -> None:
    mary = make_user("mary")
    entry = entry_create(actor=mary, title="How")
    for text, wanted in (("Since #12.", {("issue", "12")}), ("Since PR #13.", {("pull", "13")})):
        attached = [f"site:{site.pk}"]
        entry_save(entry=entry, actor=mary, title="How", text=text, attached=attached, is_draft=False)
        assert named() == wanted
    entry_save(entry=entry, actor=mary, title="How", text="Since PR #13.", is_draft=False)
    assert named() == set()

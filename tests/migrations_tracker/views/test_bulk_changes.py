"""The pages that change many sites at once."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from migrations_tracker.models import BulkChange, SiteMigration
from migrations_tracker.roles import Role
from migrations_tracker.services.bulk_changes import bulk_change_execute
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> User:
    user = make_user("lin")
    make_member(user, Role.LEAD)
    return user


@pytest.fixture
def lead_client(lead: User) -> Client:
    client = Client()
    client.force_login(lead)
    return client


@pytest.fixture(autouse=True)
def scanned() -> None:
    repository = make_repository()
    ingest(repository, make_report([make_result(), make_result("minitorch_gpu::ops::gelu", line=40)]))


ASK = "/sites/change/?repository=minitorch&q=relu"


def test_the_list_leads_to_a_preview_of_what_it_shows(lead_client: Client) -> None:
    listed = lead_client.get("/sites/?repository=minitorch&q=relu").content.decode()
    assert "/sites/change/?repository=minitorch&amp;q=relu" in listed
    preview = lead_client.get(ASK).content.decode()
    assert "Change 1 site at once" in preview
    assert "minitorch_gpu::ops::" in preview.replace("<wbr>", "")


def test_a_change_is_asked_for_followed_and_taken_back(lead_client: Client) -> None:
    body = {"to": "accepted", "owner": "", "reason": "", "seen_count": "1"}
    asked = lead_client.post(ASK, body)
    change = BulkChange.objects.get()
    assert asked["Location"] == change.get_absolute_url()
    assert "Waiting" in lead_client.get(change.get_absolute_url()).content.decode()
    bulk_change_execute(pk=change.pk)
    assert SiteMigration.objects.filter(status="accepted").count() == 1
    page = lead_client.get(change.get_absolute_url()).content.decode()
    assert "1 changed, 0 left as they were" in page
    lead_client.post(reverse("bulk-change-undo", args=[change.pk]), {"reason": "No."})
    bulk_change_execute(pk=BulkChange.objects.get(undoes=change).pk)
    assert not SiteMigration.objects.filter(status="accepted").exists()
    assert "Take back change" in lead_client.get(reverse("bulk-change-list")).content.decode()


def test_more_than_one_change_may_hold_are_to_be_narrowed(
    lead_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migrations_tracker.selectors.bulk_changes.ITEMS_AT_MOST", 1)
    monkeypatch.setattr("migrations_tracker.services.bulk_changes.ITEMS_AT_MOST", 1)
    address = "/sites/change/?repository=minitorch"
    page = lead_client.get(address).content.decode()
    assert "More than 1 sites match" in page
    assert 'name="to"' not in page
    body = {"to": "accepted", "owner": "", "reason": "", "seen_count": "2"}
    assert lead_client.post(address, body).status_code == 422
    assert not BulkChange.objects.exists()
    assert "Change 1 site at once" in lead_client.get(ASK).content.decode()


def test_the_page_names_what_was_seen_and_another_is_refused(lead_client: Client) -> None:
    body = {"to": "accepted", "owner": "", "reason": "", "seen_count": "1", "seen_mark": "1:7"}
    answer = lead_client.post(ASK, body)
    assert "somebody has changed one since you looked" in answer.content.decode()
    mark = re.search('name="seen_mark" value="([^"]+)"', answer.content.decode())
    assert mark is not None
    assert lead_client.post(ASK, {**body, "seen_mark": mark[1]}).status_code == 302


def test_an_error_keeps_what_was_typed(lead_client: Client) -> None:
    answer = lead_client.post(ASK, {"to": "", "owner": "", "reason": "Because.", "seen_count": "1"})
    assert answer.status_code == 422
    assert "Because." in answer.content.decode()
    assert not BulkChange.objects.exists()


@pytest.mark.parametrize("field", [{"to": "nonsense"}, {"owner": "999"}, {"seen_count": "x"}])
def test_rubbish_changes_nothing(lead_client: Client, field: dict[str, str]) -> None:
    body = {"to": "accepted", "owner": "", "reason": "", "seen_count": "1", **field}
    assert lead_client.post(ASK, body).status_code == 422
    assert not BulkChange.objects.exists()


def test_without_the_right_nothing_is_offered_or_done() -> None:
    client = Client()
    client.force_login(make_user("eve"))
    assert b"Change all" not in client.get("/sites/?repository=minitorch").content
    assert client.get(ASK).status_code == 403
    assert client.post(ASK, {"to": "accepted", "seen_count": "1"}).status_code == 403

"""Whatever stands in an address or a form, a page answers and never breaks down."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Branch, FallbackSite, Repository
from migrations_tracker.selectors.keyset import keyset_page
from tests.factories import ingest, make_report, make_result

RUBBISH = (
    "zzz",
    "\0",
    "a\0b",
    "'\"><script>alert(1)</script>",
    "-1",
    "9" * 40,
    "%",
    "\ud7ff\uffff",
    "x" * 5000,
)
PARAMETERS = (
    "repository",
    "branch",
    "crate",
    "rule",
    "level",
    "status",
    "seen",
    "outcome",
    "sort",
    "q",
    "page",
    "after",
)
CURSORS = (
    "null",
    "[]",
    '[0,"a"]',
    '[0,"a","b","c"]',
    '[0,"a",99999999999999999999,1]',
    '[0,"a\\u0000",1,1]',
    '[0,"a\\ud800",1,1]',
    '[0,"a\\ud800",1]',
    '[0,1,"a\\ud800",1,1]',
    '["a\\ud800",1,1]',
    "1",
    "[" * 2000,
)


@pytest.mark.parametrize("value", RUBBISH)
def test_a_filter_with_rubbish_in_it_is_a_page(ada_client: Client, site: FallbackSite, value: str) -> None:
    for parameter in PARAMETERS:
        response = ada_client.get(reverse("site-list"), {parameter: value})
        assert response.status_code == 200, parameter
        assert b"<script>alert" not in response.content, parameter


@pytest.mark.parametrize("value", [*RUBBISH, *CURSORS])
def test_pages_of_the_past_answer_rubbish(ada_client: Client, site: FallbackSite, value: str) -> None:
    slug = site.repository.slug
    for parameter in ("branch", "by", "rule", "crate", "before"):
        response = ada_client.get(reverse("repository-history", args=[slug]), {parameter: value})
        assert response.status_code == 200, parameter
    object_id = site.first_seen_scan.commit.object_id
    both = {"from": object_id, "to": object_id}
    cursor = base64.urlsafe_b64encode(value.encode(errors="replace")).decode()
    for query in ({"from": value}, {"to": value}, {**both, "kind": value}, {**both, "page": cursor}):
        response = ada_client.get(reverse("repository-changes", args=[slug]), query)
        assert response.status_code == 200, query
    assert ada_client.get(reverse("site-timeline", args=[site.pk]), {"branch": value}).status_code == 200


@pytest.mark.parametrize("text", CURSORS)
@pytest.mark.parametrize("sort", ["path", "symbol", "newest", "level"])
@pytest.mark.parametrize("sorted_at_most", [5000, 0])
def test_a_forged_cursor_is_a_page(
    ada_client: Client,
    site: FallbackSite,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    sort: str,
    sorted_at_most: int,
) -> None:
    monkeypatch.setattr("migrations_tracker.selectors.site_list.SORTED_AT_MOST", sorted_at_most)
    cursor = base64.urlsafe_b64encode(text.encode()).decode()
    assert ada_client.get(reverse("site-list"), {"page": cursor, "sort": sort}).status_code == 200
    for name in ("watch-list", "gap-list", "match-list"):
        assert ada_client.get(reverse(name), {"page": cursor}).status_code == 200


@pytest.mark.parametrize("text", ["a\ud800", "a\0"])
def test_a_cursor_of_no_text_is_the_first_page(site: FallbackSite, text: str) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([False, text]).encode()).decode()
    page = keyset_page(Repository.objects.all(), columns=("slug",), cursor=cursor, size=5)
    assert [row.slug for row in page.rows] == [site.repository.slug]


@pytest.mark.parametrize(
    "address",
    [
        "/rules/%00/",
        "/rules/FT%00/",
        "/rules/" + "x" * 3000 + "/",
        "/policy/%00/",
        "/sites/99999999999999999999999/",
        "/scans/99999999999999999999999/",
        "/scan-requests/99999999999999999999999/",
        "/repositories/" + "x" * 3000 + "/",
    ],
)
def test_an_address_that_cannot_be_anything_is_not_found(
    root_client: Client, site: FallbackSite, address: str
) -> None:
    assert root_client.get(address).status_code == 404


@pytest.mark.parametrize("value", RUBBISH)
def test_a_form_with_rubbish_in_it_is_refused_and_shown(
    root_client: Client, site: FallbackSite, value: str
) -> None:
    transition = reverse("site-transition", args=[site.pk])
    for fields in ({"to": value}, {"to": "accepted", "version": value}, {"to": value, "version": "1"}):
        assert root_client.post(transition, fields).status_code in {409, 422}, fields
    added = root_client.post("/repositories/add/", {"location": value, "name": value, "revision": value})
    assert added.status_code == 422


@pytest.mark.parametrize(
    "location", ["~nobody-of-that-name/x", "file:///etc", "file://", "https://", "//", "."]
)
def test_an_odd_address_is_answered(root_client: Client, location: str) -> None:
    response = root_client.post("/repositories/add/", {"location": location})
    assert response.status_code in {302, 422}


def test_a_loop_of_links_is_no_folder(root_client: Client, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    response = root_client.post("/repositories/add/", {"location": str(tmp_path / "a")})
    assert response.status_code == 422


def test_a_site_of_another_branch_has_no_migration_to_move_on(
    root_client: Client, repository: Repository
) -> None:
    topic = Branch.objects.create(repository=repository, name="topic")
    ingest(repository, make_report([make_result()]), branch=topic)
    site = FallbackSite.objects.get()
    response = root_client.post(
        reverse("site-transition", args=[site.pk]), {"to": "accepted", "version": 1, "reason": "x"}
    )
    assert response.status_code in {409, 422}
    assert root_client.get(site.get_absolute_url()).status_code == 200

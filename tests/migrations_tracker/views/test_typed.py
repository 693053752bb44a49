"""A form that was refused is shown again with what was typed, once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.test import Client

from audit.models import FallbackSite, Repository
from tests.factories import store_capabilities

LONG = "Read every line of it. " * 40


def refused(client: Client, address: str, form: Mapping[str, str]) -> str:
    """Return the page that follows a form which was refused."""
    response = client.post(address, form, follow=True)
    page = response.content.decode()
    assert response.redirect_chain
    assert "notice error" in page
    return page


def test_a_note_that_names_no_commit_keeps_its_text(root_client: Client, site: FallbackSite) -> None:
    store_capabilities(site.first_seen_scan, [])
    slug = site.repository.slug
    form = {"commit": "zzzzzzz", "read_on": "2026-06-01", "text": LONG, "paths": "src", "remaining": "half"}
    page = refused(root_client, f"/notes/{slug}/crate/minitorch-gpu/add/", form)
    assert LONG.strip() in page
    assert "<details open>" in page
    assert LONG.strip() not in root_client.get(f"/crates/{slug}/minitorch-gpu/").content.decode()


def test_a_merge_with_no_such_site_keeps_its_reason(root_client: Client, site: FallbackSite) -> None:
    page = refused(root_client, f"/sites/{site.pk}/merge/", {"earlier": "no", "reason": "It only moved."})
    assert 'value="It only moved."' in page


@pytest.mark.parametrize(
    ("address", "field"), [("/verifications/ask/", "text"), ("/verification-reports/ask/", "symbol")]
)
def test_a_wish_that_can_not_be_met_keeps_its_words(
    root_client: Client, repository: Repository, address: str, field: str
) -> None:
    back = f"/verifications/?repository={repository.slug}"
    form = {"repository": repository.slug, "target": "function", "back": back, field: "relu kernels"}
    form["revision"] = "nowhere"
    page = refused(root_client, address, form)
    assert 'value="relu kernels"' in page
    assert 'value="nowhere"' in page

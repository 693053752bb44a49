"""The theme is the system's until a browser is told to keep another."""

from __future__ import annotations

import pytest
from django.test import Client

LOGIN = "/login/"
pytestmark = pytest.mark.django_db


def test_without_a_choice_the_page_leaves_it_to_the_system(client: Client) -> None:
    page = client.get(LOGIN).content.decode()
    assert "data-theme" not in page
    assert '<meta name="color-scheme" content="light dark">' in page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_comes_in_the_colours_that_were_chosen(client: Client, theme: str) -> None:
    response = client.post("/theme/", {"theme": theme, "next": "/login/?next=/sites/"})
    assert (response.status_code, response["Location"]) == (302, "/login/?next=/sites/")
    page = client.get(LOGIN).content.decode()
    assert f'<html lang="en" data-theme="{theme}">' in page
    assert f'<meta name="color-scheme" content="{theme}">' in page
    assert f'value="{theme}" aria-pressed="true"' in page


def test_one_goes_back_to_the_system_s(client: Client) -> None:
    client.post("/theme/", {"theme": "dark"})
    client.post("/theme/", {"theme": "system"})
    assert "data-theme" not in client.get(LOGIN).content.decode()


@pytest.mark.parametrize("theme", ["", "pink", '"><script>'])
def test_what_is_no_theme_is_not_kept(client: Client, theme: str) -> None:
    assert client.post("/theme/", {"theme": theme}).cookies.get("theme") is None
    client.cookies["theme"] = theme
    assert "data-theme" not in client.get(LOGIN).content.decode()


@pytest.mark.parametrize(
    "elsewhere", ["https://example.org/", "//example.org/", "javascript:x", "/\\example.org"]
)
def test_it_leads_to_no_other_server(client: Client, elsewhere: str) -> None:
    assert client.post("/theme/", {"theme": "dark", "next": elsewhere})["Location"] == "/"


def test_a_browser_without_the_page_s_form_changes_nothing() -> None:
    assert Client(enforce_csrf_checks=True).post("/theme/", {"theme": "dark"}).status_code == 403

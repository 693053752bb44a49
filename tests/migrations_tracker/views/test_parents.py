"""An address that is cut short leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from django.test import Client
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve, reverse

from audit.models import Repository
from migrations_tracker.parent_urls import LISTS, PAGES_OF_A_REPOSITORY

#: Of programs, of Django's admin, and of the library that logs people in.
OF_OTHERS = ("api/", "admin/", "account/second-factor/", "account/providers/", "account/oidc/", "health")
WORDS = {"<slug:slug>": "minitorch", "<slug:kind>": "operator", "<slug:name>": "box"}


def routes_of(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes_of(pattern.url_patterns, route)
        else:
            yield route


def filled(route: str) -> str:
    parts = [
        WORDS.get(part, "1" if part.startswith("<int:") else "exp" if part.startswith("<") else part)
        for part in route.split("/")
    ]
    return "/".join(parts)


def parents() -> set[str]:
    """Return every folder above an address of ours, with something in each place of a word."""
    found = set()
    for route in routes_of(get_resolver().url_patterns):
        folder = route
        while not route.startswith(OF_OTHERS) and (folder := folder.rstrip("/").rpartition("/")[0]):
            folder += "/"
            found.add(filled(f"/{folder}"))
    return found


def is_answered(address: str) -> bool:
    try:
        resolve(address)
    except Resolver404:
        return False
    return True


def test_each_folder_above_an_address_is_an_address() -> None:
    found = parents()
    assert {"/repositories/", "/units/", "/sites/filters/1/", "/notes/minitorch/operator/exp/"} <= found
    assert sorted(address for address in found if not is_answered(address)) == []


def test_each_of_them_leads_to_a_page_that_is_shown(root_client: Client, repository: Repository) -> None:
    routes = [route for _, of_one in (*LISTS, *PAGES_OF_A_REPOSITORY) for route in of_one]
    assert len(routes) == len(set(routes)) > 20
    for route in routes:
        address = filled(f"/{route}").replace("minitorch", repository.slug)
        assert resolve(address).url_name == "parent", address
        answer = root_client.get(address, follow=True)
        assert (answer.status_code, len(answer.redirect_chain)) == (200, 1), address


def test_the_repository_in_a_short_address_is_that_of_the_page(
    root_client: Client, repository: Repository
) -> None:
    slug = repository.slug
    narrowed = root_client.get(f"/capabilities/{slug}/")
    assert narrowed["Location"] == f"{reverse('capability-list')}?repository={slug}"
    assert root_client.get(f"/crates/{slug}/")["Location"] == repository.get_absolute_url()


def test_who_is_not_logged_in_is_asked_to(client: Client) -> None:
    answer = client.get("/repositories/", follow=True)
    assert answer.redirect_chain[-1][0].startswith(reverse("login"))
    assert client.post("/repositories/").status_code == 405

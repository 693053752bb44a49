"""What pages do, programs do, or the registry says why not."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

from migrations_tracker.api.v1.app import api
from migrations_tracker.api.v1.coverage import OPERATION_OF, PAGE_ALONE
from migrations_tracker.roles import OPERATIONS, PAGES, Role, Scope

# What pages of the installation's own do with a GET beside: forms of a person's own.
_OWN_CHANGES = {"watch-settings", "subscription-stop", "delivery-resend", "token-revoke", "session-end"}
_METHODS = ("get", "post", "put", "patch", "delete")


def names_of(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names_of(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name


def changing_pages() -> set[str]:
    """Return the addresses of pages by which something is changed."""
    names = set(names_of(get_resolver().url_patterns))
    of_roles = {
        name
        for name, need in PAGES.items()
        if need.write is not Role.NOBODY and need.scope in (Scope.REPOSITORY, Scope.SYSTEM)
    }
    return {name for name in of_roles | _OWN_CHANGES if name in names and not name.startswith("api-")}


def test_each_change_of_a_page_has_an_operation_or_a_reason() -> None:
    assert changing_pages() == set(OPERATION_OF) | set(PAGE_ALONE)
    assert not set(OPERATION_OF) & set(PAGE_ALONE)
    assert all(len(reason) > 20 for reason in PAGE_ALONE.values())


def test_each_operation_that_is_named_is_there_and_needs_no_more_than_the_page() -> None:
    described = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
        if method in _METHODS
    }
    for page, operation in OPERATION_OF.items():
        assert operation in described, page
        assert OPERATIONS[operation].write <= PAGES[page].write, page

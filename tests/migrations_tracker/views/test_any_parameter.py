"""Every parameter that a page reads from its address may hold anything: the page answers."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.urls.converters import IntConverter, PathConverter, SlugConverter, StringConverter

from migrations_tracker.roles import PAGES
from tests.migrations_tracker.views.test_access import POST_ONLY, addresses

__all__ = ["addresses"]

# A value that PostgreSQL takes in no text, alone and in the shapes that pages take apart.
VALUES = ("%00", "a%00b", "%00:1%2B1", "rule:%00", "%%0000")


class Listening(QueryDict):
    """The parameters of an address, keeping which of them were asked for."""

    asked: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, and remember who was asked for."""
        self.asked.add(key)
        return super().get(key, default)

    def getlist(self, key: str, default: Any = None) -> Any:
        """Return all values, and remember who was asked for."""
        self.asked.add(key)
        return super().getlist(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


@pytest.fixture
def parameters(addresses: dict[str, str], root_client: Client) -> dict[str, set[str]]:
    """The parameters that each page reads from its address."""
    found: dict[str, set[str]] = {}
    with pytest.MonkeyPatch.context() as patched:
        asked: set[str] = set()
        patched.setattr(Listening, "asked", asked)
        patched.setattr(
            WSGIRequest, "GET", property(lambda self: Listening(self.META.get("QUERY_STRING", "")))
        )
        for name, address in addresses.items():
            if name in POST_ONLY:
                continue
            asked.clear()
            response = root_client.get(address)
            assert response.status_code < 500, name
            found[name] = set(asked)
    return found


def test_no_page_breaks_down_at_a_character_that_no_text_holds(
    addresses: dict[str, str], parameters: dict[str, set[str]], root_client: Client
) -> None:
    assert set(parameters) <= set(PAGES) | set(addresses)
    assert parameters["policy-compare"] >= {"from", "to"}
    assert parameters["site-list"] >= {"repository", "crate", "q", "sort", "page"}
    broken = []
    root_client.raise_request_exception = False
    for name, names in parameters.items():
        for parameter in sorted(names):
            for value in VALUES:
                address = f"{addresses[name].partition('?')[0]}?{parameter}={value}"
                if root_client.get(address).status_code >= 500:
                    broken.append(address)
    assert not broken


def test_no_page_breaks_down_at_such_a_character_in_its_path(db: None, root_client: Client) -> None:
    root_client.raise_request_exception = False
    tried = 0
    for pattern in get_resolver().url_patterns:
        kinds = pattern.pattern.converters if isinstance(pattern, URLPattern) else {}
        if not any(isinstance(kind, StringConverter | PathConverter) for kind in kinds.values()):
            continue
        assert isinstance(pattern, URLPattern)
        values = {name: "a\0b" if type(kind) is not IntConverter else 1 for name, kind in kinds.items()}
        values |= {name: "minitorch" for name, kind in kinds.items() if isinstance(kind, SlugConverter)}
        response = root_client.get(reverse(str(pattern.name), kwargs=values))
        assert response.status_code in {404, 405}, pattern.name
        tried += 1
    assert tried > 5

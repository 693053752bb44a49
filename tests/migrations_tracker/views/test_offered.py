"""A page offers nobody what they may not do."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from migrations_tracker.roles import PAGES, Role, Scope
from tests.factories import make_repository, make_user
from tests.migrations_tracker.views.test_access import POST_ONLY, addresses

__all__ = ["addresses"]

_FORM = re.compile(r"<form\b[^>]*>", re.DOTALL)
_METHOD = re.compile(r'method="post"', re.IGNORECASE)
_ACTION = re.compile(r'(?:^|\s)(?:form)?action="([^"]*)"')
_LINK = re.compile(r'<a\b[^>]*\shref="([^"#?]+)')
_BUTTON = re.compile(r'<button\b[^>]*\sformaction="([^"]*)"')


def offered(text: str, address: str) -> set[str]:
    """Return the names of the addresses to which the forms of a page send."""
    targets = {
        (_ACTION.search(form) or [None, ""])[1] or address
        for form in _FORM.findall(text)
        if _METHOD.search(form)
    }
    targets |= set(_BUTTON.findall(text))
    return {str(resolve(urlsplit(target).path).url_name) for target in targets}


@pytest.mark.parametrize("role", [Role.READER, Role.ENGINEER, Role.LEAD])
def test_no_form_is_shown_to_who_may_not_send_it(addresses: dict[str, str], site: object, role: Role) -> None:
    client = Client()
    client.force_login(make_user("ivy", role=role))
    wrong = set()
    for name, address in addresses.items():
        if name in POST_ONLY:
            continue
        response = client.get(address)
        if response.status_code != 200 or "text/html" not in response["Content-Type"]:
            continue
        for target in offered(response.content.decode(), address):
            need = PAGES[target]
            if need.scope in (Scope.REPOSITORY, Scope.SYSTEM) and need.write > role:
                wrong.add(f"{name} offers {target}, which needs the role {need.write.name.lower()}")
    assert not sorted(wrong)


def linked(text: str) -> set[str]:
    """Return the names of the addresses that a page leads to."""
    names = set()
    for target in _LINK.findall(text):
        try:
            names.add(str(resolve(urlsplit(target).path).url_name))
        except Resolver404:
            continue
    return names & set(PAGES)


def lists() -> dict[str, str]:
    """Return the addresses of the pages that are about nothing in particular."""
    found = {}
    for name in sorted(set(PAGES) - POST_ONLY):
        try:
            found[name] = reverse(name)
        except NoReverseMatch:
            continue
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.READER, Role.ENGINEER, Role.LEAD])
@pytest.mark.parametrize("has_repository", [False, True])
def test_no_empty_list_leads_or_sends_to_where_who_looks_may_not_go(role: Role, has_repository: bool) -> None:
    if has_repository:
        make_repository()
    client = Client()
    client.force_login(make_user("ivy", role=role))
    wrong, looked_at = set(), 0
    for name, address in lists().items():
        response = client.get(address)
        if response.status_code != 200 or "text/html" not in response["Content-Type"]:
            continue
        looked_at += 1
        text = response.content.decode()
        needs = {target: PAGES[target].read for target in linked(text)}
        needs |= {target: PAGES[target].write for target in offered(text, address)}
        for target, need in needs.items():
            if PAGES[target].scope in (Scope.REPOSITORY, Scope.SYSTEM) and need > role:
                wrong.add(f"{name} leads to {target}, which needs the role {need.name.lower()}")
    assert looked_at > 20
    assert not sorted(wrong)

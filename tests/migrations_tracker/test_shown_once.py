"""A secret is shown by the page it was sent to, to the person it was made for, once."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from migrations_tracker.http import SignedInRequest
from migrations_tracker.shown_once import secret_forget, secret_receive, secret_send

PAGE = "/account/"


def request_of(person: int, *, page: str = PAGE, method: str = "GET", cookies: str = "") -> SignedInRequest:
    request = RequestFactory().generic(method, page)
    request.user = User(pk=person)
    request.COOKIES = {name: one.value for name, one in SimpleCookie(cookies).items()}
    return request  # type: ignore[return-value]


@pytest.fixture
def sent() -> str:
    response = secret_send(request=request_of(1, method="POST"), page=PAGE, secret="fa_x")
    return response.cookies.output(header="")


def test_the_person_it_was_made_for_sees_it(sent: str) -> None:
    assert secret_receive(request_of(1, cookies=sent)) == "fa_x"


def test_nobody_else_sees_it_and_no_other_page_shows_it(sent: str) -> None:
    assert secret_receive(request_of(2, cookies=sent)) == ""
    assert secret_receive(request_of(1, page="/runners/a/", cookies=sent)) == ""
    assert secret_receive(request_of(1, cookies=sent.replace("shown-once=", "shown-once=x"))) == ""


def test_a_look_at_the_head_does_not_use_it_up(sent: str) -> None:
    assert secret_receive(request_of(1, method="HEAD", cookies=sent)) == ""


def test_it_is_gone_after_two_minutes(sent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later = timezone.now().timestamp() + 121
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert secret_receive(request_of(1, cookies=sent)) == ""


def test_the_browser_forgets_it_with_the_page_that_shows_it() -> None:
    response = HttpResponse()
    secret_forget(response, page=PAGE)
    cookie = response.cookies["shown-once"]
    assert (cookie["max-age"], cookie["path"]) == (0, PAGE)
    assert response["Cache-Control"] == "no-store"


def test_no_script_reads_it_and_it_goes_to_its_page_alone() -> None:
    response = secret_send(request=request_of(1, method="POST"), page=PAGE, secret="fa_x")
    cookie = response.cookies["shown-once"]
    assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, PAGE, "Lax")

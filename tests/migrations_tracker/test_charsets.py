"""A request says in which charset it is; what it says breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client

from migrations_tracker.wsgi import application
from tests.factories import make_user

pytestmark = pytest.mark.django_db
CHARSETS = ("utf-7", "hex", "rot13", "idna", "utf-16", "latin-1", "undefined", "unknown", "UTF8", "a\0b")
SURROGATE = "%2B2AA-"


def status_of(path: str, content_type: str, *, client: Client, method: str = "GET", body: bytes = b"") -> int:
    """Send a request through the server's own application, logged in as the client is."""
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
        "HTTP_HOST": "testserver",
        "HTTP_COOKIE": "; ".join(f"{one.key}={one.value}" for one in client.cookies.values()),
    }
    setup_testing_defaults(environ)
    said: list[str] = []
    b"".join(application(environ, lambda status, headers, exc=None: said.append(status)))  # type: ignore[arg-type]
    return int(said[0][:3])


@pytest.fixture(autouse=True)
def kept_connection() -> Iterator[None]:
    """Keep the connection in which the test's own rows are; the server closes it around a request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def reader(db: None) -> Client:
    client = Client()
    client.force_login(make_user("ada"))
    return client


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize(("page", "status"), [("/sites/", 200), ("/api/v1/repositories", 401)])
def test_an_address_is_read_whatever_charset_the_request_names(
    reader: Client, page: str, status: int, charset: str
) -> None:
    assert status_of(f"{page}?q={SURROGATE}", f"text/html; charset={charset}", client=reader) == status


@pytest.mark.parametrize("charset", ["utf-7", "hex", "latin-1", "unknown"])
def test_a_form_in_another_charset_is_a_bad_request(charset: str) -> None:
    form = f"application/x-www-form-urlencoded; charset={charset}"
    assert status_of("/login/", form, client=Client(), method="POST", body=b"username=%E9") == 400


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"'])
def test_a_form_in_utf_8_is_read_however_its_charset_is_written(charset: str) -> None:
    form = f"application/x-www-form-urlencoded; charset={charset}"
    # Refused for want of its token alone: it was read.
    assert status_of("/login/", form, client=Client(), method="POST", body=b"username=ada") == 403

"""Reads every request as UTF-8, whatever charset it names."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.utils.http import parse_header_parameters

_FORM = "application/x-www-form-urlencoded"
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class Utf8Requests:
    """A WSGI application that hides from another one the charset that a request names.

    Django reads an address by it, before any middleware: one that gives no text, or half a character, would
    be an error of the server. A form in another charset than UTF-8 is refused: it would be misread.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        content_type, parameters = parse_header_parameters(environ.get("CONTENT_TYPE", ""))
        charset = parameters.pop("charset", None)
        if charset is None:
            return self.application(environ, start_response)
        if (
            content_type == _FORM
            and environ["REQUEST_METHOD"] not in _WITHOUT_BODY
            and not _is_utf_8(charset)
        ):
            start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"A form is sent in UTF-8.\n"]
        rest = "".join(f'; {name}="{value}"' for name, value in parameters.items())
        return self.application({**environ, "CONTENT_TYPE": content_type + rest}, start_response)


def _is_utf_8(charset: str) -> bool:
    try:
        return codecs.lookup(charset).name == "utf-8"
    except (LookupError, ValueError):
        return False

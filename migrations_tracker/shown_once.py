"""A secret on its way from the form that made it to the page that shows it, once.

The page is another request than the form's, so that loading it again makes nothing anew. The secret travels
in a cookie of the browser that asked for it: here only hashes are stored, and a session would keep more.
"""

from __future__ import annotations

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect

_COOKIE = "shown-once"
_SECONDS = 120


def secret_send(*, request: HttpRequest, page: str, secret: str) -> HttpResponseBase:
    """Go on to a page that shows a secret to the person who is logged in, and to nobody else."""
    response = redirect(page)
    response.set_cookie(
        _COOKIE,
        signing.dumps(secret, salt=_salt(request, page)),
        max_age=_SECONDS,
        path=page,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def secret_receive(request: HttpRequest) -> str:
    """Return the secret that was sent to this page, or an empty text."""
    kept = request.COOKIES.get(_COOKIE, "")
    if request.method != "GET" or not kept:
        return ""
    try:
        return str(signing.loads(kept, salt=_salt(request, request.path), max_age=_SECONDS))
    except signing.BadSignature:
        return ""


def secret_forget(response: HttpResponseBase, *, page: str) -> None:
    """Take a secret that was shown back from the browser, and let nobody keep the page that shows it."""
    response.delete_cookie(_COOKIE, path=page, samesite="Lax")
    response["Cache-Control"] = "no-store"


def _salt(request: HttpRequest, page: str) -> str:
    return f"{_COOKIE}:{request.user.pk}:{page}"

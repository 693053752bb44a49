"""The switch between the light and the dark theme."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from migrations_tracker.theme import COOKIE, Theme

_YEAR = 365 * 24 * 3600


@require_POST
def theme_choose(request: HttpRequest) -> HttpResponse:
    """Let this browser keep a theme, and go back to the page; what is no theme changes nothing."""
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/")
    response = redirect(back if is_ours else "overview")
    chosen = request.POST.get("theme", "")
    if chosen == Theme.SYSTEM:
        response.delete_cookie(COOKIE, samesite="Lax")
    elif chosen in list(Theme):
        response.set_cookie(
            COOKIE,
            chosen,
            max_age=_YEAR,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response

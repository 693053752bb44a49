"""What somebody typed into a form that was refused, on its way to the page that shows the form again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

_KEY = "typed"
_LONGEST = 100_000


def typed_keep(request: HttpRequest) -> None:
    """Keep what was typed for the next page; a file is not kept."""
    request.session[_KEY] = {
        name: text[:_LONGEST] for name, text in request.POST.items() if name != "csrfmiddlewaretoken"
    }


def typed(request: HttpRequest) -> dict[str, Any]:
    """Give templates what was typed before, once."""
    session = getattr(request, "session", None)
    if session is None or request.method != "GET" or _KEY not in session:
        return {"typed": {}}
    return {"typed": session.pop(_KEY)}

"""Light, dark, or as the system has it: what a browser was told to keep."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.http import HttpRequest

COOKIE = "theme"


class Theme(StrEnum):
    """What the switch offers, in its order."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


def theme_of(request: HttpRequest) -> Theme:
    """Return the theme that this browser keeps, or the system's."""
    kept = request.COOKIES.get(COOKIE, "")
    return Theme(kept) if kept in list(Theme) else Theme.SYSTEM


def theme(request: HttpRequest) -> dict[str, Any]:
    """Give every template the theme and the switch's choices, so that the page comes in its colours."""
    return {"theme": theme_of(request), "themes": [(one, one.name.title()) for one in Theme]}

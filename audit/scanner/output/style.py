"""Colours and signs for a terminal, and none where they would be in the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import IO, NamedTuple

from audit.scanner.report import Level

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
_LEVEL_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan", Level.NONE: "dim"}
_TAB = "    "


class Style(NamedTuple):
    """How to paint: with colours or without, with line-drawing signs or ASCII, and how wide."""

    has_colour: bool = False
    has_unicode: bool = True
    width: int = 100

    def paint(self, text: str, *colours: str) -> str:
        """Return the text in colours, where there are any."""
        if not (self.has_colour and text):
            return text
        codes = ";".join(str(_CODES[colour]) for colour in colours)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def level(self, level: Level) -> str:
        """Return a level in its colour."""
        return self.paint(level.value, "bold", _LEVEL_COLOURS[level])

    def in_level(self, text: str, level: Level) -> str:
        """Return a text in the colour of a level."""
        return self.paint(text, _LEVEL_COLOURS[level])

    def sign(self, unicode_sign: str, ascii_sign: str) -> str:
        """Choose the sign that the stream can show."""
        return unicode_sign if self.has_unicode else ascii_sign


def style_for(stream: IO[str], environment: Mapping[str, str] | None = None) -> Style:
    """Choose a style for a stream. `NO_COLOR` wins over `FORCE_COLOR`, which wins over what the stream is."""
    variables = os.environ if environment is None else environment
    is_terminal = stream.isatty() and variables.get("TERM") != "dumb"
    has_colour = not variables.get("NO_COLOR") and (bool(variables.get("FORCE_COLOR")) or is_terminal)
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    width = _terminal_width() if is_terminal else 100
    return Style(has_colour, encoding.startswith("utf"), max(60, min(width, 140)))


def _terminal_width() -> int:
    # It loads every way of compressing a file: for a terminal only.
    from shutil import get_terminal_size

    return get_terminal_size((100, 24)).columns


def terminal_style() -> Style:
    """Choose the style for standard output."""
    return style_for(sys.stdout)


def visible(text: str) -> str:
    """Return text from a scanned file so that it can't steer the terminal or hide what it says."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(_visible_character(character) for character in text)


def _visible_character(character: str) -> str:
    if character == "\t":
        return _TAB
    # Controls, what turns the direction of text, what has no width, lone surrogates.
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"


def clipped(text: str, width: int, style: Style) -> str:
    """Cut a text that is wider than there is room."""
    if len(text) <= width:
        return text
    return text[: max(0, width - 1)] + style.sign("…", "~")

"""Text of others in Markdown of ours: names of files, functions and people, messages, comments in code."""

from __future__ import annotations

import re

# Underscores inside of a word are that.
_SPECIAL = re.compile(r"[\\|*\[\]#~!`]|(?<!\w)_+|_+(?!\w)")
_CODE = re.compile(r"(`[^`]+`)")
# An invisible space after it keeps `@name` from calling somebody.
_REPLACED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b"}


def code(text: str) -> str:
    """Write a text as code, whatever it holds."""
    text = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def escaped(text: str) -> str:
    """Write a text in one line: none of it is markup but code between backticks, and nobody is called."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if _CODE.fullmatch(part) else _without_markup(part) for part in parts
    )


def _without_markup(text: str) -> str:
    text = _SPECIAL.sub(lambda found: "".join(f"\\{one}" for one in found[0]), text)
    for one, instead in _REPLACED.items():
        text = text.replace(one, instead)
    return text

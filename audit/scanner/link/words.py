"""Names in a text, found without a pattern of their own: to compile one takes longer than to look."""

from __future__ import annotations


def ends_of(name: str, text: str) -> list[int]:
    """Return where a name ends that stands in a text as a whole word, and behind no dot."""
    found = []
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        before, behind = text[start - 1 : start], text[end : end + 1]
        if not (is_of_word(before) or before == "." or is_of_word(behind)):
            found.append(end)
        start = text.find(name, end)
    return found


def is_of_word(character: str) -> bool:
    """Say whether a character, or none, is part of a word."""
    return character.isalnum() or character == "_"

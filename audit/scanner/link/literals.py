"""Answers that are written down, not computed."""

from __future__ import annotations

import re

from audit.scanner.extract.items import split_list

_SUCCESS = re.compile(r"^Ok\s*\((.*)\)$", re.DOTALL)
_LITERAL = re.compile(r"^-?(?:[\d_.]+(?:[iuf]\d+)?|true|false)$")
_LITERAL_STRUCT = re.compile(r"^\w+\s*\{\s*(?:\w+\s*:\s*-?(?:[\d_.]+\w*|true|false)\s*,?\s*)+\}$")


def literal_parts(answer: str) -> tuple[int, int]:
    """Return how many parts of an `Ok(..)` are literals or structs of literals, and how many there are."""
    success = _SUCCESS.match(answer)
    if success is None:
        return 0, 0
    value = success[1].strip()
    is_tuple = value.startswith("(") and value.endswith(")")
    parts = split_list(value[1:-1]) if is_tuple else [value]
    literal = sum(bool(_LITERAL.match(one.strip()) or _LITERAL_STRUCT.match(one.strip())) for one in parts)
    return literal, len([one for one in parts if one.strip()])

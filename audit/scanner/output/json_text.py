"""JSON with indentation: `json` writes it in Python, one small piece after the other.

What a document has thousands of stands on a line each: that the standard library writes in C.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring

_STEP = "  "
# Lists of these names have their elements on a line each.
LONG_LISTS = frozenset({"results", "artifacts", "files"})
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_text(document: object) -> str:
    """Write a document whose keys are strings, as `json.dumps` does with an indent of two and no escapes.

    The elements of long lists are written as `json.dumps` does without indent.
    """
    return _text(document, "\n")


def _text(value: object, line: str) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict) and value:
        deeper = line + _STEP
        members = [f"{encode_basestring(key)}: {_member(key, one, deeper)}" for key, one in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(members)}{line}}}"
    if isinstance(value, list | tuple) and value:
        deeper = line + _STEP
        return f"[{deeper}{f',{deeper}'.join([_text(one, deeper) for one in value])}{line}]"
    return int.__repr__(value) if type(value) is int else json.dumps(value)


def _member(key: str, value: object, line: str) -> str:
    if key in LONG_LISTS and isinstance(value, list | tuple) and value:
        return _lines(value, line)
    return encode_basestring(value) if isinstance(value, str) else _text(value, line)


def _lines(values: Sequence[object], line: str) -> str:
    deeper = line + _STEP
    return f"[{deeper}{f',{deeper}'.join(map(_ENCODER.encode, values))}{line}]"

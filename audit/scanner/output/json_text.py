"""JSON with indentation: `json` writes it in Python, one small piece after the other."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

_STEP = "  "


def json_text(document: object) -> str:
    """Write a document whose keys are strings, as `json.dumps` does with an indent of two and no escapes."""
    return _text(document, "\n")


def _text(value: object, line: str) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict) and value:
        deeper = line + _STEP
        members = [
            f"{encode_basestring(key)}: "
            f"{encode_basestring(one) if isinstance(one, str) else _text(one, deeper)}"
            for key, one in value.items()
        ]
        return f"{{{deeper}{f',{deeper}'.join(members)}{line}}}"
    if isinstance(value, list | tuple) and value:
        deeper = line + _STEP
        return f"[{deeper}{f',{deeper}'.join([_text(one, deeper) for one in value])}{line}]"
    return int.__repr__(value) if type(value) is int else json.dumps(value)

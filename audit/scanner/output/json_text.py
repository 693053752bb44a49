"""JSON with indentation: `json` writes it in Python, one small piece after the other.

What a document has thousands of stands on a line each: that the standard library writes in C.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring

_STEP = "  "
# Lists of these names have their elements on a line each.
LONG_LISTS = frozenset({"results", "artifacts", "files"})
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_text(document: object) -> str:
    """Write a document whose keys are strings, as `json.dumps` does with an indent of two and no escapes.

    The elements of long lists are written as `json.dumps` does without indent; an iterator may yield them.
    """
    return "\n".join(json_lines(document))


def json_lines(document: object) -> Iterator[str]:
    """Yield the lines of `json_text`: of an iterator no more than two elements are there at a time."""
    return _lines(document, "", "", "")


def _lines(value: object, indent: str, before: str, after: str) -> Iterator[str]:
    """Yield the lines of a value, with what stands before it on its first and after it on its last."""
    if isinstance(value, dict) and value:
        yield f"{before}{{"
        yield from _members(value, indent + _STEP)
        yield f"{indent}}}{after}"
    elif isinstance(value, list | tuple) and value:
        yield f"{before}["
        yield from _elements(value, indent + _STEP)
        yield f"{indent}]{after}"
    else:
        yield f"{before}{_scalar(value)}{after}"


def _members(members: Mapping[str, object], indent: str) -> Iterator[str]:
    last = len(members) - 1
    for number, (key, value) in enumerate(members.items()):
        before, after = f"{indent}{encode_basestring(key)}: ", "," if number < last else ""
        if isinstance(value, str):
            yield f"{before}{encode_basestring(value)}{after}"
        elif key in LONG_LISTS and isinstance(value, list | tuple | Iterator):
            yield from _long_list(value, indent, before, after)
        else:
            yield from _lines(value, indent, before, after)


def _elements(values: Sequence[object], indent: str) -> Iterator[str]:
    last = len(values) - 1
    for number, value in enumerate(values):
        yield from _lines(value, indent, indent, "," if number < last else "")


def _long_list(values: Iterable[object], indent: str, before: str, after: str) -> Iterator[str]:
    encoded = map(_ENCODER.encode, values)
    waiting = next(encoded, None)
    if waiting is None:
        yield f"{before}[]{after}"
        return
    deeper = indent + _STEP
    yield f"{before}["
    for following in encoded:
        yield f"{deeper}{waiting},"
        waiting = following
    yield f"{deeper}{waiting}"
    yield f"{indent}]{after}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    return int.__repr__(value) if type(value) is int else json.dumps(value)

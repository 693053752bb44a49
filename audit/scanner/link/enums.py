"""The variants of an enum, as written."""

from __future__ import annotations

import re

from audit.scanner.extract.items import split_list

# Comments and attributes; what a text in an attribute holds ends none.
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|#\[(?:[^\]"]|"(?:\\.|[^"\\])*")*\]', re.DOTALL)
_VARIANT = re.compile(r"\s*(\w+)(.*)", re.DOTALL)


def variants_of(text: str) -> list[tuple[str, str]]:
    """Return the names of an enum's variants, each with what it holds: `(String)`, `{ op: &'static str }`."""
    body = _NO_CODE.sub("", text).partition("{")[2].rpartition("}")[0]
    named = map(_VARIANT.match, split_list(body))
    return [(match[1], match[2].strip()) for match in named if match is not None]

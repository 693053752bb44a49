"""Make macro arguments and bodies readable: to the grammar they are token trees.

Every rewriting keeps the length of the text, so offsets into it are offsets into the file. Two passes:

* `open_arguments` turns `name!(a, b)` into a call and `vec![a, b]` into an array, in place, before the one
  parse of the file. What is in strings and comments is rewritten too, which harms nothing: their text is
  always sliced from the original.
* `overlay` puts the bodies of what is still a token tree (macro definitions, macros in braces, macros whose
  arguments are no expressions) where they stand in an otherwise blank text, each wrapped as a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_OPENING = re.compile(rb"!\s*([(\[])")
_WORD = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_NAME_WINDOW = 80
_WRAPPER = b"fn m()"
_CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}
# Arguments of these are patterns or items, never expressions alone.
_NOT_EXPRESSIONS = frozenset({b"matches", b"macro_rules"})


class TokenTree(NamedTuple):
    """A token tree that is still to be read: its span with delimiters, and the macro it belongs to."""

    start: int
    end: int
    room_start: int
    macro: str
    is_definition: bool

    @property
    def wrapper_start(self) -> int:
        """Where the function that wraps the tree begins."""
        return self.start - len(_WRAPPER)


def open_arguments(source: bytes, kept: Sequence[tuple[int, int]] = ()) -> bytes:
    """Rewrite macro invocations with expression arguments as calls, but none inside the spans `kept`."""
    text = bytearray(source)
    for match in _OPENING.finditer(source):
        mark = match.start()
        name = _name_before(source, mark)
        if not name or (kept and any(start <= mark - len(name) < end for start, end in kept)):
            continue
        if match[1] == b"[":
            if name == b"vec":
                text[mark - len(name) : mark + 1] = b" " * (len(name) + 1)
        elif name not in _NOT_EXPRESSIONS:
            text[mark] = 0x20
    return bytes(text)


def _name_before(source: bytes, end: int) -> bytes:
    """Return the identifier that ends at an offset, or nothing."""
    window = source[max(end - _NAME_WINDOW, 0) : end]
    name = window[len(window.rstrip(_WORD)) :]
    if len(name) == _NAME_WINDOW:
        name = source[len(source[:end].rstrip(_WORD)) : end]
    return b"" if name[:1].isdigit() else name


def overlay(source: bytes, trees: Iterable[TokenTree]) -> tuple[bytes, dict[int, TokenTree]]:
    """Lay the bodies of the token trees into a blank text.

    Returns the text, and the trees by the offset at which their wrapper's body starts.
    """
    text = bytearray(b" " * len(source))
    wrapped: dict[int, TokenTree] = {}
    for tree in trees:
        if tree.start - tree.room_start < len(_WRAPPER) or tree.end - tree.start < 2:
            continue
        opening = source[tree.start : tree.start + 1]
        body = source[tree.start + 1 : tree.end - 1]
        if tree.is_definition:
            body = _blank_repetitions(body)
        elif opening != b"{":
            body = _separate(body)
        text[tree.wrapper_start : tree.start] = _WRAPPER
        text[tree.start : tree.end] = b"{" + body + b"}"
        wrapped[tree.start] = tree
    return bytes(text), wrapped


def _blank_repetitions(body: bytes) -> bytes:
    """Blank `$(`, its `)` with separator and operator, and the `$` of fragments."""
    text = bytearray(body)
    stack: list[bool] = []
    for token in re.finditer(rb"\$\(|\$(?=\w)|[(]|[)]|\"(?:\\.|[^\"\\])*\"", body):
        kind = token[0]
        if kind == b"$(":
            stack.append(True)
            text[token.start() : token.end()] = b"  "
        elif kind == b"$":
            text[token.start()] = 0x20
        elif kind == b"(":
            stack.append(False)
        elif kind == b")" and stack and stack.pop():
            operator = re.compile(rb"\)\s*[^\s*+?()]{0,2}\s*[*+?]").match(body, token.start())
            end = operator.end() if operator else token.end()
            text[token.start() : end] = b" " * (end - token.start())
    return bytes(text)


def _separate(body: bytes) -> bytes:
    """Turn the commas of an expression list into semicolons, so that each part parses by itself."""
    text = bytearray(body)
    depth = 0
    for token in re.finditer(rb"[(\[{]|[)\]}]|,|\"(?:\\.|[^\"\\])*\"", body):
        kind = token[0]
        if kind in _CLOSING:
            depth += 1
        elif kind in (b")", b"]", b"}"):
            depth -= 1
        elif kind == b"," and depth == 0:
            text[token.start()] = 0x3B
    return bytes(text)

"""The values of Rust string expressions, where they can be told without running them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from audit.scanner.extract.items import split_list

_RAW = re.compile(r'^b?r(#*)"(.*)"\1$', re.DOTALL)
_PLAIN = re.compile(r'^b?"(.*)"$', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f_]+)\}|\r?\n\s*|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "0": "\0", "'": "'", '"': '"'}
_NAME = re.compile(r"^(?:\w+::)*(\w+)$")
_SAME = re.compile(r"^(?:to_string|to_owned|into|as_str|clone|as_ref|trim|trim_start)\(\)$")
_REPLACE = re.compile(r"^replace\((.*)\)$", re.DOTALL)
_KEPT = re.compile(r"^(?:get_or_init|call_once)\(\s*(?:move\s*)?\|\|\s*(.*)\)$", re.DOTALL)
_CALL = re.compile(r"^((?:\w+::)*\w+!?)\s*\((.*)\)$", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")
_DEPTH = 12

Lookup = Callable[[str], str | None]
Call = Callable[[str, "list[str | None]"], str | None]


def literal(text: str) -> str | None:
    """Return the value of a string literal as written, or None when the text is none."""
    text = text.strip()
    raw = _RAW.match(text)
    if raw is not None:
        return raw[2]
    plain = _PLAIN.match(text)
    return _ESCAPE.sub(_unescape, plain[1]) if plain is not None and _is_one(plain[1]) else None


class _Reading(NamedTuple):
    """What an expression is by its text: a literal, a method call, a name, a call, or nothing of these."""

    literal: str | None = None
    head: str = ""
    last: str = ""
    name: str = ""
    called: str = ""
    arguments: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def _read(text: str) -> _Reading:
    known = literal(text)
    if known is not None:
        return _Reading(literal=known)
    head, last = split_last_method(text)
    if last:
        return _Reading(head=head, last=last)
    name = _NAME.match(text)
    if name is not None:
        return _Reading(name=name[1])
    called = _CALL.match(text)
    return _Reading(called=called[1], arguments=_parts(called[2])) if called is not None else _Reading()


@lru_cache(maxsize=8192)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(split_list(text))


class Evaluator:
    """Evaluates string expressions.

    `lookup` gives the value of a constant by its bare name, `call` that of a function (or, with `!`, a macro
    other than `concat!`) by its name and argument values; each returns None for what it can't tell.
    """

    def __init__(self, lookup: Lookup, call: Call) -> None:
        self._lookup = lookup
        self._call = call

    def value(self, expression: str, names: Mapping[str, str], depth: int = _DEPTH) -> str | None:
        """Return the value of an expression in which `names` are bound, or None when it can't be told."""
        read = _read(expression.strip().lstrip("&* ").strip())
        if not depth or read.literal is not None:
            return read.literal if depth else None
        if read.last:
            # The text gets shorter with each method: a chain may be longer than calls may be deep.
            return self._method(read.head, read.last, names, depth)
        if read.name:
            return names[read.name] if read.name in names else self._lookup(read.name)
        if not read.called:
            return None
        values = [self.value(argument, names, depth - 1) for argument in read.arguments]
        if read.called == "concat!":
            return "".join(part for part in values if part is not None) if None not in values else None
        return self._call(read.called, values)

    def _method(self, head: str, last: str, names: Mapping[str, str], depth: int) -> str | None:
        kept = _KEPT.match(last)
        if kept is not None:
            return self.value(kept[1].strip().removeprefix("{").removesuffix("}"), names, depth)
        base = self.value(head, names, depth)
        if base is None or _SAME.match(last):
            return base
        replaced = _REPLACE.match(last)
        if replaced is None:
            return None
        parts = _parts(replaced[1])
        old, new = ([self.value(part, names, depth) for part in parts] + [None, None])[:2]
        return base.replace(old, new) if old and new is not None else None


@lru_cache(maxsize=8192)
def split_last_method(text: str) -> tuple[str, str]:
    """Split `a.b().c(d)` into `a.b()` and `c(d)`; without a method the last part is empty."""
    depth = 0
    in_string = False
    dot = -1
    for index, char in enumerate(text):
        if in_string:
            in_string = char != '"' or text[index - 1] == "\\"
        elif char == '"':
            in_string = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "." and depth == 0:
            dot = index
    if dot < 0:
        return text, ""
    return text[:dot].rstrip(), text[dot + 1 :].strip()


def without_comments(code: str) -> str:
    """Remove line comments from code; strings that hold `//` do not occur in the chains this is for."""
    return _COMMENT.sub("", code)


def _unescape(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    if found[2]:
        return chr(int(found[2].replace("_", ""), 16))
    return _SIMPLE.get(found[3], found[3]) if found[3] else ""


def _is_one(inside: str) -> bool:
    """Say whether the inside of two quotes is one literal: no bare quote ends it before."""
    return re.search(r'(?<!\\)(?:\\\\)*"', inside) is None

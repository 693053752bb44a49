"""Branches for element types: those that no type parameter admits, and arms that macros are given."""

from __future__ import annotations

import re
from collections.abc import Mapping

from audit.scanner.extract.facts import Call
from audit.scanner.link.flow import Flow
from audit.scanner.link.unit import Fn

_BOUNDED = re.compile(r"\b[A-Z]\w*\s*:\s*([^,>{]+)")
_TRAIT = re.compile(r"(\w+)\s*(?:<[^<>]*>)?\s*$")
_ELEMENT = re.compile(r"^(?:b?f\d+|[iu]\d+|bool)$")
_ARM = re.compile(r"(?<![\w:])(?:b?f\d+|[iu]\d+)\s*=>")
_BRACKETS = re.compile(r"[()\[\]{},]")
_TOLD = re.compile(r"\bis_(b?f\d+|[iu]\d+)\b|\bTypeId::of::<(?:\w+::)*(b?f\d+|[iu]\d+)>")


def is_for_no_type(function: Fn, call: Call, flow: Flow, implementors: Mapping[str, frozenset[str]]) -> bool:
    """Say whether each type that a bound admits was asked for before a call, and left.

    Only a trait whose implementors are all elements is closed: the last `else` of a ladder over them is dead.
    """
    header = function.owner.header if function.owner is not None else ""
    closed = [
        types
        for bound in _BOUNDED.findall(header + " " + function.facts.generics)
        for one in bound.split("+")
        if (name := _TRAIT.search(one.strip())) is not None
        and (types := implementors.get(name[1]))
        and all(map(_ELEMENT.match, types))
    ]
    if not closed:
        return False
    left = {
        word
        for test in flow.tests_at(call.start, call.region)
        if not test.holds and not test.pattern and "&&" not in test.subject
        for words in _TOLD.findall(flow.expand(test.subject))
        for word in words
        if word
    }
    return any(types <= left for types in closed)


def is_in_arm_for_type(function: Fn, call: Call) -> bool:
    """Say whether a call stands in an arm for one type that a macro is given: `f32 => call(..)`.

    No pattern of a `match` is the bare name of a type.
    """
    before = function.text(function.facts.body_start, call.start)
    return any(_reaches_end(before, found.end()) for found in _ARM.finditer(before))


def _reaches_end(text: str, start: int) -> bool:
    """Say whether what begins at an offset is not closed, and has no comma of its own, before the end."""
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        if token[0] == ",":
            if depth == 0:
                return False
        else:
            depth += 1 if token[0] in "([{" else -1
            if depth < 0:
                return False
    return True

"""Branches for element types that no type parameter admits."""

from __future__ import annotations

import re
from collections.abc import Mapping

from audit.scanner.extract.facts import Call
from audit.scanner.link.flow import Flow
from audit.scanner.link.unit import Fn

_BOUNDED = re.compile(r"\b[A-Z]\w*\s*:\s*([^,>{]+)")
_TRAIT = re.compile(r"(\w+)\s*(?:<[^<>]*>)?\s*$")
_ELEMENT = re.compile(r"^(?:b?f\d+|[iu]\d+|bool)$")
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

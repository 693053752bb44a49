"""What tests may run, where calls can't be followed: whatever has a name that is called from there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Unit
from audit.scanner.profile import any_pattern

# How far before a name the keyword that defines it may stand.
_LEAD = 200
_WORD = re.compile(r"\b[a-z_]\w*")
# What an operator symbol calls.
_SYMBOLS = ("add", "sub", "mul", "div", "rem", "neg", "not", "index", "deref")


def presumed_names(summaries: Summaries) -> frozenset[str]:
    """Return the names that test code calls, directly or through functions of these names.

    Only calls whose name matches the profile's `tests.presumed_patterns` are followed so. Types decide
    nothing: of what is left out here, no test runs anything that could be meant.
    """
    patterns = summaries.profile.tests.presumed_patterns
    if not patterns:
        return frozenset()
    pattern = any_pattern(patterns)
    found = set(filter(pattern.search, _called_by_tests(summaries).union(_SYMBOLS)))
    queue = deque(found)
    while queue:
        for function in summaries.workspace.by_name.get(queue.popleft(), ()):
            for call in function.facts.calls:
                if call.name not in found and pattern.search(call.name):
                    found.add(call.name)
                    queue.append(call.name)
    return frozenset(found)


def is_given_away(summaries: Summaries, name: str) -> bool:
    """Say whether something is named without being called: as a function value, or as a type argument."""
    if not summaries.profile.tests.presumed_patterns:
        return False
    word = name.encode()
    mention = re.compile(rb"(?<![\w.])" + word + rb"\b(?!\s*[(:!])(?!\s*<)")
    return any(
        not any(use.start <= found.start() < use.end for use in unit.facts.uses)
        and not unit.is_comment(found.start())
        for unit in summaries.workspace.units.values()
        if word in unit.data
        for found in mention.finditer(unit.data)
        if not unit.data[max(found.start() - _LEAD, 0) : found.start()]
        .rstrip()
        .endswith((b"fn", b"macro_rules!"))
    )


def _before(data: bytes, offset: int) -> bytes:
    """Return what stands right before an offset, without the white space in between."""
    return data[max(offset - _LEAD, 0) : offset].rstrip()


def _called_by_tests(summaries: Summaries) -> set[str]:
    found: set[str] = set()
    traits = summaries.workspace.traits
    for unit in summaries.workspace.units.values():
        words, methods = unit.told_once(_called_by_tests_of, _called_by_tests_of)
        found |= words
        # A method of another crate's trait is called by that crate.
        found.update(name for trait, name in methods if trait not in traits)
    return found


def _called_by_tests_of(unit: Unit) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Return what the tests of a file call, and the methods of traits beside them, each with its trait."""
    found: set[str] = set()
    methods: set[tuple[str, str]] = set()
    for function in unit.functions or ():
        if function.is_test_code:
            calls = function.facts.calls
            found.update([call.name for call in calls])
            macros = [call for call in calls if call.kind == CallKind.MACRO]
            for start, end in _outermost(macros):
                found.update(_WORD.findall(function.text(start, end)))
        elif function.trait:
            methods.add((function.trait, function.name))
    for start, end in _outermost(unit.facts.calls):
        # An invocation between items makes the tests, of functions that it is given.
        found.update(_WORD.findall(unit.text(start, end)))
    return frozenset(found), frozenset(methods)


def _outermost(calls: Sequence[Call]) -> Iterator[tuple[int, int]]:
    """Yield the spans of arguments, calls being in source order, but none inside another one."""
    last = -1
    for call in calls:
        if call.end > last:
            yield call.arguments_start, call.end
            last = call.end

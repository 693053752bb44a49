"""What tests may run, where calls can't be followed: whatever has a name that is called from there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from audit.scanner.extract.facts import CallKind
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import any_pattern

_WORD = re.compile(r"\b[a-z_]\w*\b")
# What an operator symbol calls.
_SYMBOLS = ("add", "sub", "mul", "div", "rem", "neg", "not", "index", "deref")


def presumed_names(summaries: Summaries) -> frozenset[str]:
    """Return the names that test code calls, directly or through functions of these names.

    Only calls whose name matches the profile's `tests.presumed_patterns` are followed so. Types decide
    nothing: of what is left out here, no test runs anything that could be meant.
    """
    pattern = any_pattern(summaries.profile.tests.presumed_patterns)
    found = {name for name in (*_SYMBOLS, *_called_by_tests(summaries)) if pattern.search(name)}
    queue = deque(found)
    while queue:
        for function in summaries.workspace.by_name.get(queue.popleft(), ()):
            for call in function.facts.calls:
                if call.name not in found and pattern.search(call.name):
                    found.add(call.name)
                    queue.append(call.name)
    return frozenset(found)


def _called_by_tests(summaries: Summaries) -> Iterator[str]:
    for function in summaries.workspace.functions:
        if not function.is_test_code:
            continue
        for call in function.facts.calls:
            yield call.name
            if call.kind == CallKind.MACRO:
                yield from _WORD.findall(function.text(call.arguments_start, call.end))
    for unit in summaries.workspace.units.values():
        for call in unit.facts.calls:
            # An invocation between items makes the tests, of functions that it is given.
            yield from _WORD.findall(unit.text(call.arguments_start, call.end))

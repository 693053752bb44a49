"""Refusals of a dtype that none gets to: whoever calls the function has asked before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.judge import Judgement
from audit.scanner.link.exports import Exports
from audit.scanner.link.flow import Flow, Test, bare, split_operator
from audit.scanner.link.parts import number_of
from audit.scanner.link.unit import Fn

_TYPE = re.compile(r"\b(?:B?F|[UI]|Q)\d\w*|\bis_b?f\d+\b")
# A query of the kernel's own: it speaks for all operands, and for what it takes.
_QUERY = r"\b(?:is_)?support(?:s|ed)\w*\(|\b(?:can|should)_use\w*\("
_ASKS_KERNEL = re.compile(_QUERY)
_IS = re.compile(
    rf"\bdtype(?:\(\))?\s*==\s*(?:\w+::)+\w+|\bmatches!\(.*\bdtype\b|\bis_b?f\d+\b|{_QUERY}", re.DOTALL
)
# No method, function or macro.
_NAME = re.compile(r"\b[a-z_]\w*\b(?!\s*[(!]|::)")
_IS_NOT = re.compile(r"\bdtype(?:\(\))?\s*!=\s*(?:\w+::)+\w+")


class Refused(NamedTuple):
    """What a function refuses by its dtype: the names of the operand, and the types that it takes.

    `names` is empty where it is the only operand that is asked, `takes` where nothing tells them.
    """

    names: frozenset[str]
    takes: frozenset[str]


class _Use(NamedTuple):
    """Where a function is called, or the type is made that calls it later: no call is known then."""

    caller: Fn
    offset: int
    call: Call | None = None


class AskedBefore:
    """Answers for one workspace, about functions that only their own crate can name."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement
        self._exports = Exports(judgement.workspace)

    def may_be_named(self, function: Fn) -> bool:
        """Say whether others may call a function: nothing is known of what they ask."""
        return self._exports.may_be_named(function)

    def by_callers(self, function: Fn, refused: Refused) -> bool:
        """Say whether a function is only called, or its type made, where a dtype that it takes was asked for.

        Where a caller asks for none, it is those who call it that must have.
        """
        pending, seen = [(function, refused)], {function.index}
        while pending:
            one, known = pending.pop()
            uses = [] if self.may_be_named(one) else list(self._uses(one))
            if not uses:
                return False
            for use in uses:
                handed = known._replace(names=self._handed(one, known.names, use))
                if not self._admits(use, handed) and use.caller.index not in seen:
                    seen.add(use.caller.index)
                    pending.append((use.caller, handed))
        return True

    def _handed(self, function: Fn, names: frozenset[str], use: _Use) -> frozenset[str]:
        """Return the names by which a caller knows what a function has under some names."""
        if use.call is None or not names:
            return names
        parameters = [one.name for one in function.facts.parameters if one.name != "self"]
        arguments = self._judgement.summaries.resolver.arguments(use.caller, use.call)
        handed = zip(parameters, arguments[max(0, len(arguments) - len(parameters)) :], strict=False)
        return names.union(*(_names_in(argument) for name, argument in handed if name in names))

    def _uses(self, function: Fn) -> Iterator[_Use]:
        found = self._makers(function) if function.trait else self._callers(function)
        return (one for one in found if self._judgement.summaries.graph.is_examined(one.caller))

    def _callers(self, function: Fn) -> Iterator[_Use]:
        outer = function.facts.outer
        for caller, call in self._judgement.summaries.callers(function):
            # What stands in a function is called there, and not what has its name elsewhere.
            if outer < 0 or (
                caller.unit is function.unit and outer in (number_of(caller), caller.facts.outer)
            ):
                yield _Use(caller, call.start, call)

    def _makers(self, function: Fn) -> Iterator[_Use]:
        """Yield where the functions of a package, its own methods aside, name a type."""
        name = re.compile(rb"\b%s\b" % re.escape(function.self_type).encode())
        for unit in self._judgement.workspace.units.values():
            if unit.package is not function.unit.package:
                continue
            for found in name.finditer(unit.data):
                within = [
                    one
                    for one in self._judgement.functions_of(unit)
                    if one.facts.body_start <= found.start() < one.facts.body_end
                ]
                if within and within[-1].self_type != function.self_type:
                    yield _Use(within[-1], found.start())

    def _admits(self, use: _Use, refused: Refused) -> bool:
        flow = self._judgement.summaries.flow(use.caller)
        return any(admits(flow, test, refused) for test in flow.tests_at(use.offset))


def admits(flow: Flow, test: Test, refused: Refused) -> bool:
    """Say whether a test that holds, or does not, lets no dtype through but those that are taken."""
    if test.pattern:
        types = types_in(test.pattern)
        is_told = test.holds and bool(types) and (not refused.takes or types <= refused.takes)
    else:
        subjects = {test.subject, flow.expand(test.subject)}
        is_told = any(_is_admitted(one, refused.takes, holds=test.holds) for one in subjects)
        if _ASKS_KERNEL.search(test.subject):
            return is_told
    return is_told and (not refused.names or not refused.names.isdisjoint(names_asked(flow, test)))


def types_in(text: str) -> frozenset[str]:
    """Return the element types that a pattern or condition names."""
    return frozenset(one.removeprefix("is_").upper() for one in _TYPE.findall(text))


def names_asked(flow: Flow, test: Test) -> frozenset[str]:
    """Return the names in what a test asks, as it is written and as its locals were bound."""
    subject = test.subject.strip()
    value = flow.value_of(subject) if subject.isidentifier() else flow.expand(subject)
    return _names_in(f"{subject} {value}")


def _names_in(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text)) - {"self"}


def _is_admitted(condition: str, takes: frozenset[str], *, holds: bool) -> bool:
    """Say whether a condition that holds, or does not, is true of dtypes only that are taken."""
    condition = bare(condition)
    for operator, of_any in (("||", not holds), ("&&", holds)):
        parts = split_operator(condition, operator)
        if len(parts) > 1:
            told = (_is_admitted(part, takes, holds=holds) for part in parts)
            return any(told) if of_any else all(told)
    if condition.startswith("!") and not condition.startswith("!="):
        return _is_admitted(condition[1:], takes, holds=not holds)
    if not (_IS if holds else _IS_NOT).search(condition):
        return False
    return not takes or types_in(condition) <= takes

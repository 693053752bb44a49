"""Refusals of a dtype that none gets to: whoever calls the function has asked before."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.extract.items import split_list
from audit.scanner.judge import Judgement
from audit.scanner.link.exports import Exports
from audit.scanner.link.flow import Flow, Test, bare, split_operator
from audit.scanner.link.parts import number_of
from audit.scanner.link.unit import Fn, Unit

_TYPE = re.compile(r"\b(?:B?F|[UI]|Q)\d\w*|\bis_b?f\d+\b")
# A query of the kernel's own: it speaks for all operands, and for what it takes.
_QUERY = r"\b(?:is_)?support(?:s|ed)\(|\bsupport\w*\([^()]*\bdtype\b|\b(?:can|should)_use\w*\(\s*[^)\s]"
_ASKS_KERNEL = re.compile(_QUERY)
_IS = re.compile(
    rf"\bdtype(?:\(\))?\s*==\s*(?:\w+::)+\w+|\bmatches!\(.*\bdtype\b|\bis_b?f\d+\b|{_QUERY}", re.DOTALL
)
_IS_NOT = re.compile(r"\bdtype(?:\(\))?\s*!=\s*(?:\w+::)+\w+")
# One of many has it.
_OF_SOME = re.compile(r"\.(?:any|all|find|position|filter)\(")
# No method, function or macro, and no field that is a dtype.
_NAME = re.compile(r"(?<!\.)\b[a-z_]\w*\b(?!\s*(?:\(|!(?!=))|::)|(?<=self\.)(?!dtype\b)[a-z_]\w*\b(?!\s*\()")
_METHOD = re.compile(r"\b(\w+)\(")
# What a tensor goes through without another dtype.
_VIEWS = frozenset(
    {
        *(
            "as_ref",
            "broadcast_as",
            "clone",
            "contiguous",
            "detach",
            "flatten",
            "flatten_all",
            "is_contiguous",
        ),
        *("narrow", "permute", "reshape", "squeeze", "t", "to_device", "transpose", "unsqueeze"),
    }
)
_TYPE_NAME = re.compile(rb"\b[A-Z]\w*")
_ITEM = re.compile(rb"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:type|static|const)\b[^\n]*", re.MULTILINE)


class Refused(NamedTuple):
    """What a function refuses by its dtype: the names of the operand, and the types that it takes.

    `takes` is empty where nothing tells them; `is_only` tells that no other operand is refused so.
    """

    names: frozenset[str]
    takes: frozenset[str]
    is_only: bool = False


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
        self._types: dict[str, dict[bytes, list[int]]] = {}
        self._ends: dict[str, list[int]] = {}
        self._by_items: dict[str, frozenset[bytes]] = {}

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
            uses = [] if self.may_be_named(one) or self._is_handed_about(one) else list(self._uses(one))
            if not uses:
                return False
            for use in uses:
                handed, others = self._handed(one, known, use)
                if not self._admits(use, handed, others) and use.caller.index not in seen:
                    seen.add(use.caller.index)
                    pending.append((use.caller, handed))
        return True

    def _handed(self, function: Fn, refused: Refused, use: _Use) -> tuple[Refused, frozenset[str]]:
        """Return what is refused by the names that a caller has for it, and those of its other arguments."""
        if use.call is None:
            return refused, frozenset()
        parameters = [one.name for one in function.facts.parameters if one.name != "self"]
        arguments = self._judgement.summaries.resolver.arguments(use.caller, use.call)
        handed = list(zip(parameters, arguments[max(0, len(arguments) - len(parameters)) :], strict=False))
        own = frozenset[str]().union(*(_names_in(text) for name, text in handed if name in refused.names))
        others = frozenset[str]().union(
            *(_names_in(text) for name, text in handed if name not in refused.names)
        )
        return refused._replace(names=refused.names | own), others - own

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
        name = function.self_type.encode()
        for unit in self._judgement.workspace.units.values():
            if unit.package is function.unit.package:
                for offset in self._named_types(unit).get(name, ()):
                    caller = self._function_at(unit, offset)
                    if caller is not None and caller.self_type != function.self_type:
                        yield _Use(caller, offset)

    def _named_types(self, unit: Unit) -> dict[bytes, list[int]]:
        """Return where a file names types, by their names."""
        known = self._types.get(unit.path)
        if known is None:
            known = self._types[unit.path] = {}
            for found in _TYPE_NAME.finditer(unit.data):
                known.setdefault(found[0], []).append(found.start())
        return known

    def _function_at(self, unit: Unit, offset: int) -> Fn | None:
        """Return the innermost function whose body holds an offset."""
        functions = self._judgement.functions_of(unit)
        ends = self._ends.get(unit.path)
        if ends is None:
            ends = self._ends[unit.path] = list(accumulate((one.facts.body_end for one in functions), max))
        index = bisect_right(functions, offset, key=lambda one: one.facts.start) - 1
        while index >= 0 and ends[index] > offset:
            facts = functions[index].facts
            if facts.body_start <= offset < facts.body_end:
                return functions[index]
            index -= 1
        return None

    def _is_handed_about(self, function: Fn) -> bool:
        """Say whether a function, or a type, is named where no call is: who calls it then is not seen."""
        package = function.unit.package
        units = [one for one in self._judgement.workspace.units.values() if one.package is package]
        own = function.self_type.encode()
        if function.trait:
            return any(own in self._named_by_items(unit) for unit in units)
        name = function.name.encode()
        path = rb"\b%s::" % own if own else rb"(?<![\w!])(?<!fn )"
        pattern = re.compile(path + name + rb"\b(?!\s*(?:\(|::<|<|\w|:|=|\.))")
        return any(
            not unit.is_comment(found.start())
            and not any(use.start <= found.start() < use.end for use in unit.facts.uses)
            for unit in units
            if name in unit.data
            for found in pattern.finditer(unit.data)
        )

    def _named_by_items(self, unit: Unit) -> frozenset[bytes]:
        """Return the words in the aliases, statics and constants of a file."""
        known = self._by_items.get(unit.path)
        if known is None:
            lines = b"\n".join(_ITEM.findall(unit.data))
            known = self._by_items[unit.path] = frozenset(_TYPE_NAME.findall(lines))
        return known

    def _admits(self, use: _Use, refused: Refused, others: frozenset[str]) -> bool:
        flow = self._judgement.summaries.flow(use.caller)
        return any(
            admits(flow, test, refused, others) and not is_rebound(flow, test, use.offset)
            for test in flow.tests_at(use.offset)
        )


def is_rebound(flow: Flow, test: Test, offset: int) -> bool:
    """Say whether a name that a test asks stands for something else at an offset, and for no view of it."""
    names = names_asked(flow, test)
    function = flow.function
    return any(
        test.group < let.start
        and let.end <= offset
        and not names.isdisjoint(_names_in(function.text(let.pattern_start, let.pattern_end)))
        and not _VIEWS.issuperset(_METHOD.findall(function.text(let.value_start, let.value_end)))
        for let in function.facts.lets
    )


def admits(flow: Flow, test: Test, refused: Refused, others: frozenset[str] = frozenset()) -> bool:
    """Say whether a test that holds, or does not, lets no dtype through but those that are taken.

    `others` are names of what is handed over beside the operand: what is asked of them tells nothing of it.
    """
    if test.pattern:
        is_told = test.holds and _is_pattern_of(test, refused.takes)
    else:
        subjects = {test.subject, flow.expand(test.subject)}
        is_told = any(_is_admitted(one, refused.takes, holds=test.holds) for one in subjects)
        if is_told and _ASKS_KERNEL.search(test.subject):
            return True
    names = names_asked(flow, test)
    return is_told and (not refused.names.isdisjoint(names) or (refused.is_only and others.isdisjoint(names)))


def _is_pattern_of(test: Test, takes: frozenset[str]) -> bool:
    """Say whether each alternative of a pattern names types where a dtype is matched, and all are taken."""
    subjects = split_list(bare(test.subject)) if test.subject.strip().startswith("(") else [test.subject]
    for one in test.pattern.split("|") if len(subjects) == 1 else [test.pattern]:
        parts = split_list(bare(one)) if len(subjects) > 1 else [one]
        if len(parts) != len(subjects):
            return False
        asked = [
            part
            for part, subject in zip(parts, subjects, strict=True)
            if len(subjects) == 1 or "dtype" in subject
        ]
        if not asked or not all(types_in(part) and (not takes or types_in(part) <= takes) for part in asked):
            return False
    return True


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
    if not (_IS if holds else _IS_NOT).search(condition) or _OF_SOME.search(condition):
        return False
    types = types_in(condition)
    if not types:
        return _ASKS_KERNEL.search(condition) is not None
    return not takes or types <= takes

"""What holds where: the tests that dominate a place in a function, and what they say about the device."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from audit.scanner.extract.facts import CallKind, ExitKind, Let, Region, RegionKind
from audit.scanner.link.places import DeviceTests, Place
from audit.scanner.link.unit import Fn
from audit.scanner.link.words import ends_of

_DIVERGING_MACROS = frozenset({"panic", "unreachable", "todo", "unimplemented", "bail", "compile_error"})
_DEPTH = 6
_BRACKET_OR = {"&&": re.compile(r"[()\[\]{}]|&&"), "||": re.compile(r"[()\[\]{}]|\|\|")}
# What a choice asks is not what it yields.
_CHOICE = re.compile(r"(?:if|match)\b")
_BARE_NAME = re.compile(r"\b[a-z_]\w*\b(?!\s*[.(:])")
T = TypeVar("T")


class Test(NamedTuple):
    """A test on the way to a place: it holds there, or its opposite does.

    `pattern` is empty for a plain condition. `group` is the start of the if, match or let; `region` the
    branch whose leaving (or entering) made the test known.
    """

    subject: str
    pattern: str
    holds: bool
    group: int
    region: int
    encloses: bool


class Flow:
    """The control flow of one function, as far as dominance needs it."""

    def __init__(self, function: Fn, words: DeviceTests) -> None:
        self.function = function
        self._words = words
        self.kept: dict[object, Any] = {}
        """What others have worked out from the text and the profile alone, under keys of theirs."""
        self._regions = function.facts.regions
        self._leaving: dict[int, bool] = {}
        self._at: dict[tuple[int, int], list[Test]] = {}
        self._entered: dict[int, list[Test]] = {}
        self._passed: dict[int, tuple[list[Test], int]] = {}
        self._places: dict[tuple[str, bool], Place | None] = {}
        self._expanded: dict[str, str] = {}

    def kept_once(self, key: object, tell: Callable[[], T]) -> T:
        """Return what is worked out from the text and the profile alone, once for as long as both stand."""
        found: T | None = self.kept.get(key)
        if found is None:
            found = self.kept[key] = tell()
        return found

    @cached_property
    def _children(self) -> dict[int, list[tuple[int, int, list[int]]]]:
        """For each region its groups: (start, end, branches)."""
        groups: dict[tuple[int, int, int], list[int]] = {}
        for index, region in enumerate(self._regions):
            if region.kind in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM, RegionKind.LET_ELSE):
                groups.setdefault((region.parent, region.group_start, region.group_end), []).append(index)
        found: dict[int, list[tuple[int, int, list[int]]]] = {}
        for (parent, start, end), branches in groups.items():
            found.setdefault(parent, []).append((start, end, branches))
        return found

    @cached_property
    def _exits(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for exit_ in self.function.facts.exits:
            found.setdefault(exit_.region, []).append(exit_.kind)
        for call in self.function.facts.calls:
            if call.kind == CallKind.MACRO and call.name in _DIVERGING_MACROS:
                found.setdefault(call.region, []).append(ExitKind.RETURN)
        return found

    def leaves(self, region: int) -> bool:
        """Say whether control never runs on behind a region."""
        known = self._leaving.get(region)
        if known is None:
            self._leaving[region] = False
            known = self._leaving[region] = bool(self._exits.get(region)) or any(
                self._is_complete(branches) and all(self.leaves(branch) for branch in branches)
                for _, _, branches in self._children.get(region, ())
            )
        return known

    def returns(self, region: int) -> bool:
        """Say whether a region leaves the function, not only a loop."""
        return ExitKind.RETURN in self._exits.get(region, ()) or any(
            self._is_complete(branches) and all(self.returns(branch) for branch in branches)
            for _, _, branches in self._children.get(region, ())
        )

    def _is_complete(self, branches: list[int]) -> bool:
        kinds = {self._regions[branch].kind for branch in branches}
        return RegionKind.ARM in kinds or {RegionKind.THEN, RegionKind.ELSE} <= kinds

    def tests_at(self, offset: int, region: int | None = None) -> list[Test]:
        """Return the tests that hold at a place, nearest enclosing ones first; not to be changed."""
        innermost = self.function.innermost(offset) if region is None else region
        if not innermost and len(self._regions) == 1:
            return []
        known = self._at.get((offset, innermost))
        if known is None:
            known = self._at[offset, innermost] = self._tests_at(offset, innermost)
        return known

    def _tests_at(self, offset: int, innermost: int) -> list[Test]:
        found: list[Test] = []
        for index in self.function.ancestors(innermost):
            if index:
                found += self.tests_into(index)
            found += self._behind(index, offset)
        return found

    def entering(self, index: int) -> Test:
        """Return the test that holds where a branch or let-else body begins."""
        return self.tests_into(index)[0]

    def tests_into(self, index: int) -> list[Test]:
        """Return the tests that lead into a branch, of an arm those above it too; not to be changed."""
        known = self._entered.get(index)
        if known is None:
            known = self._entered[index] = self._tests_into(index, self._regions[index])
        return known

    def _tests_into(self, index: int, region: Region) -> list[Test]:
        text = self.function.text
        subject = text(region.condition_start, region.condition_end)
        if region.kind in (RegionKind.THEN, RegionKind.ELSE):
            return [Test(subject, "", region.kind == RegionKind.THEN, region.group_start, index, True)]
        if region.kind in (RegionKind.ARM, RegionKind.LET_ELSE):
            pattern = text(region.pattern_start, region.pattern_end)
            return [
                Test(subject, pattern, region.kind == RegionKind.ARM, region.group_start, index, True),
                *self._earlier_arms(index, region, subject),
            ]
        return []

    def _earlier_arms(self, index: int, region: Region, subject: str) -> list[Test]:
        """In an arm, the patterns of the arms above it did not match."""
        if region.kind != RegionKind.ARM:
            return []
        return [
            Test(
                subject,
                self.function.text(other.pattern_start, other.pattern_end),
                False,
                other.group_start,
                number,
                True,
            )
            for number, other in enumerate(self._regions[:index])
            if other.kind == RegionKind.ARM and other.group_start == region.group_start
        ]

    def _behind(self, parent: int, offset: int) -> list[Test]:
        """Return what is known in a region behind its branches that end before the offset."""
        found: list[Test] = []
        for start, end, branches in self._children.get(parent, ()):
            if end > offset and not (
                start <= offset and self._regions[branches[0]].kind == RegionKind.LET_ELSE
            ):
                continue
            known = self._passed.get(branches[0])
            if known is None:
                known = self._passed[branches[0]] = self._after_group(branches)
            tests, staying = known
            found += tests
            if staying:
                found += self._behind(staying, offset)
        return found

    def _after_group(self, branches: list[int]) -> tuple[list[Test], int]:
        """Return what is known behind branches, and the only one of them that runs on, or 0."""
        text = self.function.text
        found: list[Test] = []
        staying = [branch for branch in branches if not self.leaves(branch)]
        for branch in branches:
            if branch in staying:
                continue
            region = self._regions[branch]
            subject = text(region.condition_start, region.condition_end)
            if region.kind == RegionKind.LET_ELSE:
                pattern = text(region.pattern_start, region.pattern_end)
                found.append(Test(subject, pattern, True, region.group_start, branch, False))
            elif region.kind == RegionKind.ARM:
                pattern = text(region.pattern_start, region.pattern_end)
                found.append(Test(subject, pattern, False, region.group_start, branch, False))
            else:
                holds = region.kind == RegionKind.ELSE
                found.append(Test(subject, "", holds, region.group_start, branch, False))
        if len(staying) == 1 and self._is_complete(branches):
            if self._regions[staying[0]].kind == RegionKind.ARM:
                found.append(self.entering(staying[0])._replace(encloses=False))
            return found, staying[0]
        return found, 0

    def place(self, test: Test) -> Place | None:
        """Say what a test tells about the device of the data."""
        if test.pattern:
            return self._words.pattern_place(test.subject, test.pattern, test.holds)
        return self.condition_place(test.subject, test.holds)

    def condition_place(self, condition: str, holds: bool) -> Place | None:
        """Say what a condition that holds (or does not) tells about the device of the data."""
        key = (condition, holds)
        if key not in self._places:
            words = self._words
            self._places[key] = self.told(condition, holds, words.atom_place, words.pattern_place)
        return self._places[key]

    def told(
        self,
        condition: str,
        holds: bool,
        atom: Callable[[str, bool], T | None],
        pattern: Callable[[str, str, bool], T | None],
        depth: int = _DEPTH,
    ) -> T | None:
        """Say what a condition that holds (or does not) tells, given what its atoms and patterns tell.

        Names of locals stand for the values that they are bound to.
        """
        condition = bare(condition)
        if depth == 0 or not condition:
            return None
        for operator, every in (("||", holds), ("&&", not holds)):
            parts = split_operator(condition, operator)
            if len(parts) > 1:
                return _join(
                    [self.told(part, holds, atom, pattern, depth - 1) for part in parts], all_of=every
                )
        if condition.startswith("!") and not condition.startswith("!="):
            return self.told(condition[1:], not holds, atom, pattern, depth - 1)
        if condition.startswith("let "):
            matched, _, subject = condition[4:].partition("=")
            return pattern(subject.strip(), matched.strip(), holds)
        if _CHOICE.match(condition):
            return None
        if condition.isidentifier():
            value = self.value_of(condition)
            return self.told(value, holds, atom, pattern, depth - 1) if value else atom(condition, holds)
        return atom(condition, holds)

    def expand(self, condition: str) -> str:
        """Return a condition with names of boolean locals replaced by their values, one level deep."""
        if not self._values:
            return condition
        found = self._expanded.get(condition)
        if found is None:
            found = self._expanded[condition] = _BARE_NAME.sub(
                lambda name: self.value_of(name[0]) or name[0], condition
            )
        return found

    def value_of(self, name: str) -> str:
        """Return the text of the value that a local is bound to, empty when it is not told."""
        return self._values.get(name, "")

    def source_of(self, name: str, region: int, offset: int) -> str:
        """Return what a name is bound to at an offset in a region: by a let, an arm or an if-let."""
        if not name.isidentifier():
            return ""
        let = self._let_before(name, offset, frozenset(self.function.ancestors(region)), in_tuples=True)
        if let is not None:
            return self.function.text(let.value_start, let.value_end)
        word = re.compile(rf"\b{name}\b")
        for index in self.function.ancestors(region):
            inside = self._regions[index]
            subject = self.function.text(inside.condition_start, inside.condition_end)
            pattern = self.function.text(inside.pattern_start, inside.pattern_end)
            if inside.kind == RegionKind.THEN and subject.startswith("let "):
                pattern, _, subject = subject[4:].partition("=")
            if inside.kind in (RegionKind.THEN, RegionKind.ARM) and word.search(pattern):
                return subject
        return ""

    def value_before(self, name: str, offset: int) -> str:
        """Return the text of the value that a local is bound to where an offset stands."""
        let = self._let_before(name, offset)
        return self.function.text(let.value_start, let.value_end) if let is not None else ""

    def let_in_scope(self, name: str, offset: int, region: int) -> Let | None:
        """Return the let that binds a local at an offset in a region."""
        return self._let_before(name, offset, frozenset(self.function.ancestors(region)))

    def _let_before(
        self, name: str, offset: int, around: frozenset[int] | None = None, *, in_tuples: bool = False
    ) -> Let | None:
        for let, pattern in reversed(self._bound):
            if (
                (pattern == name or (in_tuples and pattern.startswith("(") and ends_of(name, pattern)))
                and let.end <= offset
                and (around is None or let.region in around)
            ):
                return let
        return None

    @cached_property
    def _bound(self) -> list[tuple[Let, str]]:
        """The lets that have a value, in source order, with their patterns."""
        text = self.function.text
        return [
            (let, text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip())
            for let in self.function.facts.lets
            if let.value_start
        ]

    @cached_property
    def _values(self) -> dict[str, str]:
        text = self.function.text
        return {
            pattern: text(let.value_start, let.value_end)
            for let, pattern in self._bound
            if pattern.isidentifier()
        }


def split_operator(condition: str, operator: str) -> list[str]:
    """Split a condition at an operator that is in no bracket."""
    if operator not in condition:
        return [condition]
    parts = []
    depth = 0
    start = 0
    for token in _BRACKET_OR[operator].finditer(condition):
        text = token[0]
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
        elif depth == 0:
            parts.append(condition[start : token.start()])
            start = token.end()
    parts.append(condition[start:])
    return [part.strip() for part in parts if part.strip()]


def bare(condition: str) -> str:
    """Return a condition without white space and brackets around it."""
    condition = condition.strip()
    while condition.startswith("(") and condition.endswith(")"):
        depth = 0
        for index, char in enumerate(condition):
            depth += (char == "(") - (char == ")")
            if depth == 0 and index < len(condition) - 1:
                return condition
        condition = condition[1:-1].strip()
    return condition


def _join(found: list[T | None], *, all_of: bool) -> T | None:
    known = [one for one in found if one is not None]
    if not known or (all_of and len(known) < len(found)):
        return None
    return known[0] if all(one == known[0] for one in known) else None

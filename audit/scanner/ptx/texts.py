"""The PTX texts of a workspace: constants, literals, included files, and texts derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from posixpath import dirname, join, normpath
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.ptx.literals import Evaluator, literal, without_comments

_PTX = re.compile(r"^\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*\.version\s+\d", re.DOTALL)
_TARGET = re.compile(r"^\s*\.target\s+\w+", re.MULTILINE)
_BODY = re.compile(r"\.(?:entry|func)\b")
_INCLUDE = re.compile(r'^include_str!\s*\(\s*"([^"]+)"\s*\)$')
_TEMPLATE_MACRO = re.compile(
    r"\b(?:format|format_args|write|writeln|concat|print|println|eprintln)!\s*\(\s*(?:[^\"();]*,\s*)?$"
)
_WORD = re.compile(rb"[A-Za-z_0-9\x80-\xff]+")
_STRING_TYPES = ("str", "String", "Cow")


class PtxText(NamedTuple):
    """One text, where it stands, and the constant that holds it (empty for a literal or a derived text)."""

    unit: Unit
    start: int
    end: int
    function: Fn | None
    name: str
    text: str
    form: str


class StringConstant(NamedTuple):
    """A constant of a file: the index of its item, its value, and the file that it includes, if it does."""

    item: int
    value: str | None
    included: str


@lru_cache(maxsize=4096)
def is_ptx(text: str) -> bool:
    """Say whether a text is a whole PTX module: version, target and a body."""
    return bool(_PTX.match(text) and _TARGET.search(text) and _BODY.search(text))


class PtxTexts:
    """Finds the PTX texts of product code.

    `included` holds the texts of files that Rust can include, by path.
    """

    def __init__(self, workspace: Workspace, resolver: Resolver, included: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._resolver = resolver
        self._included = included

    @cached_property
    def all(self) -> tuple[PtxText, ...]:
        """All texts, by path and offset."""
        found = [*self._constants(), *self._literals(), *self._derived()]
        return tuple(sorted(found, key=lambda one: (one.unit.path, one.start, one.end)))

    @cached_property
    def _values(self) -> dict[str, list[tuple[Unit, int, str]]]:
        """String constants by name: unit, index of the item, value."""
        found: dict[str, list[tuple[Unit, int, str]]] = {}
        for unit in self._workspace.units.values():
            for one in _strings_of(unit):
                value = self._included.get(one.included, one.value) if one.included else one.value
                if value is not None:
                    found.setdefault(unit.facts.items[one.item].name, []).append((unit, one.item, value))
        return found

    def constant(self, unit: Unit, name: str) -> str | None:
        """Return the value of a constant as a file sees it: its own, or the only one of that name."""
        known = self._values.get(name, [])
        own = [value for holder, _, value in known if holder is unit]
        if own:
            return own[0]
        crate = [value for holder, _, value in known if holder.package is unit.package]
        if crate:
            return crate[0]
        return known[0][2] if len(known) == 1 else None

    def _constants(self) -> Iterator[PtxText]:
        for name, known in self._values.items():
            for unit, index, value in known:
                item = unit.facts.items[index]
                if is_ptx(value) and _is_product(unit) and not self._is_in_test(unit, item.start):
                    header = item.value_start - 1
                    form = (
                        "included" if "include_str!" in unit.text(item.value_start, item.end) else "constant"
                    )
                    yield PtxText(
                        unit, item.start, header, self._function_at(unit, item.start), name, value, form
                    )

    def _literals(self) -> Iterator[PtxText]:
        for unit in self._workspace.units.values():
            for start, end, value in _literals_of(unit) if _is_product(unit) else ():
                if not self._is_in_test(unit, start):
                    first_line = unit.data.find(b"\n", start, end)
                    stop = first_line if first_line > 0 else end
                    yield PtxText(unit, start, stop, self._function_at(unit, start), "", value, "literal")

    def _derived(self) -> Iterator[PtxText]:
        """Yield texts that a function of the workspace makes from a constant by replacing parts of it."""
        names = frozenset(
            name.encode() for name, known in self._values.items() if any(is_ptx(value) for *_, value in known)
        )
        calls = sorted(self._calls_of_makers(), key=lambda pair: pair[0].index) if names else ()
        for function, call in calls:
            if self._may_derive(function, call, names):
                value = self._evaluate(function, function.text(call.start, call.end), {}, 6)
                if value is not None and is_ptx(value):
                    yield PtxText(function.unit, call.start, call.end, function, "", value, "derived")

    def _calls_of_makers(self) -> Iterator[tuple[Fn, Call]]:
        """Yield the calls that may call what returns a string: by any name, or as what they are given."""
        makers = frozenset(
            name
            for name, known in self._workspace.by_name.items()
            if any(_is_string(one.facts.return_type) for one in known)
        )
        renamed = self._resolver.renamed
        called = makers.union(name for name, real in renamed.items() if not real.isdisjoint(makers))
        for unit in self._workspace.units.values():
            for name in called & unit.called.keys():
                yield from unit.called[name]
        for (index, start, end), paths in self._resolver.passed.items():
            if any(path[-1] in makers for path in paths):
                function = self._workspace.functions[index]
                for call in function.facts.calls:
                    if (call.start, call.end) == (start, end) and call.name not in called:
                        yield function, call

    def _may_derive(self, function: Fn, call: Call, names: frozenset[bytes]) -> bool:
        return (
            function.has_body
            and function.is_product_code
            and call.kind in (CallKind.PLAIN, CallKind.PATH)
            and not names.isdisjoint(_WORD.findall(function.unit.data, call.arguments_start, call.end))
            and any(_is_string(one.facts.return_type) for one in self._resolver.resolve(function, call))
        )

    def _evaluate(self, function: Fn, expression: str, names: Mapping[str, str], depth: int) -> str | None:
        def called(name: str, values: list[str | None]) -> str | None:
            callee = self._callee(function, name, len(values))
            return self._apply(callee, values, depth - 1) if callee is not None and depth else None

        evaluator = Evaluator(lambda name: self.constant(function.unit, name), called)
        return evaluator.value(without_comments(expression), names)

    def _callee(self, function: Fn, name: str, arity: int) -> Fn | None:
        bare = name.rpartition("::")[2]
        fitting = [
            one
            for one in self._workspace.by_name.get(bare, [])
            if one.has_body and len(one.facts.parameters) == arity and not one.is_test_code
        ]
        here = [one for one in fitting if one.unit.package is function.unit.package]
        return here[0] if len(here) == 1 else None

    def _apply(self, callee: Fn, values: list[str | None], depth: int) -> str | None:
        names = {
            parameter.name: value
            for parameter, value in zip(callee.facts.parameters, values, strict=True)
            if value is not None
        }
        for let in callee.facts.lets:
            bound = self._evaluate(callee, callee.text(let.value_start, let.value_end), names, depth)
            if bound is not None:
                pattern = callee.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
                names[pattern] = bound
        body = callee.facts.regions[0]
        return self._evaluate(callee, callee.text(body.tail_start, body.tail_end), names, depth)

    def _function_at(self, unit: Unit, offset: int) -> Fn | None:
        around = [
            one
            for one in self._by_unit.get(unit.path, ())
            if one.facts.body_start <= offset < one.facts.body_end
        ]
        return max(around, key=lambda one: one.facts.start, default=None)

    @cached_property
    def _by_unit(self) -> dict[str, list[Fn]]:
        found: dict[str, list[Fn]] = {}
        for function in self._workspace.functions:
            found.setdefault(function.unit.path, []).append(function)
        return found

    def _is_in_test(self, unit: Unit, offset: int) -> bool:
        function = self._function_at(unit, offset)
        if function is not None:
            return function.is_test_code
        return any(
            scope.body_start <= offset < scope.body_end
            and any(re.search(r"cfg\s*\(\s*test\b", one) for one in scope.attributes)
            for scope in unit.facts.scopes
        )


def _is_product(unit: Unit) -> bool:
    return unit.target_kind in ("lib", "bin") and not any(cfg.requires("test") for cfg in unit.cfgs)


def _strings_of(unit: Unit) -> Sequence[StringConstant]:
    """Return the string constants of a file, worked out once."""
    return unit.told_once(_strings_of, lambda unit: list(_string_constants(unit)))


def _string_constants(unit: Unit) -> Iterator[StringConstant]:
    evaluator = Evaluator(lambda name: None, lambda name, values: None)
    for index, item in enumerate(unit.facts.items):
        if item.kind not in ("const", "static") or not item.value_start:
            continue
        expression = unit.text(item.value_start, item.end).rstrip("; \n")
        if '"' in expression:
            named = _INCLUDE.match(expression.strip())
            included = normpath(join(dirname(unit.path), named[1])) if named is not None else ""
            yield StringConstant(index, evaluator.value(expression, {}), included)


def _literals_of(unit: Unit) -> Sequence[tuple[int, int, str]]:
    """Return the literals of a file that are PTX, each with its span, worked out once."""
    return unit.told_once(_literals_of, lambda unit: list(_ptx_literals(unit)))


def _ptx_literals(unit: Unit) -> Iterator[tuple[int, int, str]]:
    held = [(item.value_start, item.end) for item in unit.facts.items if item.kind in ("const", "static")]
    for start, end in unit.facts.strings:
        if end - start < 40 or any(first <= start < last for first, last in held):
            continue
        value = literal(unit.text(start, end))
        if value is not None and is_ptx(value) and not _is_template(unit, start):
            yield start, end, value


@lru_cache(maxsize=4096)
def _is_string(type_: str) -> bool:
    return "Result" not in type_ and any(name in type_ for name in _STRING_TYPES)


def _is_template(unit: Unit, start: int) -> bool:
    """Say whether a literal is the format string of a macro: what is assembled is what becomes of it."""
    before = unit.data[max(start - 80, 0) : start].decode("utf-8", "replace")
    return _TEMPLATE_MACRO.search(before) is not None

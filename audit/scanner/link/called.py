"""The calls of a workspace by the name that is called: put together from tables of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Final

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.unit import Fn, Unit

Pair = tuple[Fn, Call]
Table = Mapping[str, Sequence[Pair]]

_NAME_ARGUMENT = re.compile(r"\b(\w+)\s*[,)]")
_PATH_ARGUMENT = re.compile(r"\w::(\w+)\s*[,)]")
# No name: what is told under it is for some macros and renamed imports, and is not kept for another scan.
_TABLE: Final = object()


class CalledNames:
    """Answers for one workspace: a renamed import is called by its real name too.

    `renamed` says which names imports give to others, `macros` which macros there are, `passing` which calls
    are given functions, by the names of these.
    """

    def __init__(
        self,
        units: Iterable[Unit],
        renamed: Mapping[str, set[str]],
        macros: frozenset[str],
        passing: Mapping[str, Sequence[Pair]],
    ) -> None:
        self._passing = passing
        self._known: dict[str, Sequence[Pair]] = {}
        self._tables: dict[str, list[Table]] = {name: [] for name in passing}
        special = renamed.keys() | macros
        for unit in units:
            table = _table_of(unit, renamed, macros, special)
            for name in table:
                self._tables.setdefault(name, []).append(table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def get(self, name: str, default: Sequence[Pair] = ()) -> Sequence[Pair]:
        """Return the calls by a name: those that are given such a function, then in the order of the tree."""
        if name not in self._tables:
            return default
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = [
                *self._passing.get(name, ()),
                *chain.from_iterable(table.get(name, ()) for table in self._tables[name]),
            ]
        return known


def _table_of(
    unit: Unit, renamed: Mapping[str, set[str]], macros: frozenset[str], special: Set[str]
) -> Table:
    """Return the table of a file, put together once for the same macros and renamed imports."""
    met = unit.called.keys() & special
    if not met and not unit.has_spliced_names:
        return unit.called
    told = {name: (name in macros, frozenset(renamed.get(name, ()))) for name in met}
    known: tuple[object, Table] | None = unit.told.get(_TABLE)
    if known is None or known[0] != told:
        known = unit.told[_TABLE] = told, _table(unit, told)
    return known[1]


def _table(unit: Unit, told: Mapping[str, tuple[bool, frozenset[str]]]) -> Table:
    more: dict[str, list[Pair]] = {}
    for name, function, call in (*_by_other_names(unit, told), *_spliced(unit)):
        more.setdefault(name, []).append((function, call))
    found: dict[str, Sequence[Pair]] = dict(unit.called)
    for name, pairs in more.items():
        found[name] = sorted((*unit.called.get(name, ()), *pairs), key=_place)
    return found


def _place(pair: Pair) -> tuple[int, bool, int, int]:
    """Return where a call comes: by function; what macros splice is behind what the function calls."""
    function, call = pair
    is_outside = not function.facts.start <= call.start < function.facts.end
    return function.index, is_outside, call.start, call.arguments_start


def _by_other_names(
    unit: Unit, told: Mapping[str, tuple[bool, frozenset[str]]]
) -> Iterator[tuple[str, Fn, Call]]:
    """Yield the calls of renamed imports, and of macros that are given paths, by what they call."""
    for called, (is_macro, real_names) in told.items():
        for function, call in unit.called[called]:
            if is_macro and call.kind == CallKind.MACRO:
                for name in _PATH_ARGUMENT.findall(function.text(call.arguments_start, call.end)):
                    yield name, function, call
            for name in real_names:
                yield name, function, call


def _spliced(unit: Unit) -> Iterator[tuple[str, Fn, Call]]:
    """Yield the invocations that give names to functions of a macro of the file."""
    for function in unit.functions or () if unit.has_spliced_names else ():
        for call in unit.facts.calls if function.facts.has_spliced_name else ():
            if call.name == function.facts.macro:
                for name in _NAME_ARGUMENT.findall(function.text(call.arguments_start, call.end)):
                    yield name, function, call

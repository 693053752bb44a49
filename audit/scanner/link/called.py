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
    found: dict[str, list[Pair]] = {}

    def add(name: str, function: Fn, call: Call) -> None:
        found.setdefault(name, []).append((function, call))

    for function in unit.functions or ():
        for call in function.facts.calls:
            add(call.name, function, call)
            is_macro, real_names = told.get(call.name, (False, ()))
            if is_macro and call.kind == CallKind.MACRO:
                for name in _PATH_ARGUMENT.findall(function.text(call.arguments_start, call.end)):
                    add(name, function, call)
            for name in real_names:
                add(name, function, call)
        if function.facts.has_spliced_name:
            for call in unit.facts.calls:
                if call.name == function.facts.macro:
                    for name in _NAME_ARGUMENT.findall(function.text(call.arguments_start, call.end)):
                        add(name, function, call)
    return found

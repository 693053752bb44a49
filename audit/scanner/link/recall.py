"""What was found out about a linked workspace, kept as bytes for the next scan of the same tree.

Kept is what is told of a file and its place alone, and what calls resolve to. Both are used again under the
conditions under which they are carried from commit to commit in memory: a file that stands as it stood, and
no change to a name, struct, trait, re-export or package that was looked up. The bytes of a file are read when
something is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import blake2b
from types import FunctionType
from typing import Any, NamedTuple

from audit.scanner.extract.facts import CallKind
from audit.scanner.link.given import Given, World, resolved_by
from audit.scanner.link.parts import (
    Looked,
    Part,
    Place,
    Row,
    Rows,
    Span,
    Tables,
    number_of,
    part_of,
    tables_in,
    told_in,
)
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace

_DIGEST_BYTES = 16
# So many names that have changed since: then all is written anew.
_MOST_STALE = 400


class KeptFile(NamedTuple):
    """A file as it stood: what it was, which names and structs it defines, and what was found out.

    A name comes with a digest of all that a call may be resolved by of what it names, a struct with one of
    its fields.
    """

    stand: str
    names: dict[str, str]
    structs: dict[str, str]
    splices: bool
    told: bytes
    tables: bytes


class Memory(NamedTuple):
    """What one scan leaves: plain values all through.

    `stale` names what has changed since the oldest parts were written: names, structs, and functions that
    hand others on. `spliced` are the names that macros give.
    """

    outlook: tuple[str, str, str]
    stale_names: tuple[str, ...]
    stale_structs: tuple[str, ...]
    stale_passing: tuple[Place, ...]
    spliced: tuple[str, ...]
    files: dict[str, KeptFile]


class _Change(NamedTuple):
    """What may be another answer than the one that was kept."""

    names: frozenset[str]
    structs: frozenset[str]
    passing: frozenset[Place]


class Recalled:
    """What is known of a workspace from the scan before, and what this one learns."""

    def __init__(self, workspace: Workspace, memory: Memory | None, documents: Sequence[Unit] = ()) -> None:
        self._workspace = workspace
        self._units = {unit.path: unit for unit in documents} | workspace.units
        self._memory = memory
        self._packages: dict[str, str] = {}
        self._numbered: dict[str, dict[str, list[Fn]]] = {}
        self._before = memory.files if memory is not None else {}
        self._files: dict[str, KeptFile] = {}
        self._same: set[str] = set()
        for path, unit in self._units.items():
            kept, stand = self._before.get(path), self._stand(unit)
            if kept is not None and kept.stand == stand:
                self._same.add(path)
                self._files[path] = kept
            else:
                self._files[path] = self._as_it_is(unit, stand)
        self._told: dict[str, dict[str, Any]] = {}
        self._tables: dict[str, Tables] = {}
        self._given = Given()
        self._has_paths = self._has_answers = False
        self._change = _Change(frozenset(), frozenset(), frozenset())
        self._outlook = ("", "", "")
        self._passing: frozenset[Place] = frozenset()
        self._elsewhere: dict[str, list[Part]] = {}
        for path in self._same:
            self._units[path].recall = self._told_by(path)

    # -- reading -----------------------------------------------------------------------------------------

    def given(self, world: World, uses: Callable[[Unit], Mapping[str, tuple[str, ...]]]) -> Given:
        """Return the answers that hold in this world, each looked up when it is asked for."""
        self._outlook = _outlook(world)
        self._passing = frozenset(map(self._place_of, world.passing))
        self._change = self._changed()
        memory = self._memory
        if memory is not None:
            self._has_answers = memory.outlook[:2] == self._outlook[:2]
            self._has_paths = memory.outlook[2] == self._outlook[2]
        self._given = Given(world, recalled=self if memory is not None else None)
        self._uses = uses
        return self._given

    def types(self, function: Fn) -> tuple[dict[str, str], set[str]] | None:
        """Return the types of a function's locals, and the structs that they were told from."""
        tables = self._tables_of(function.unit.path)
        if tables is None:
            return None
        number = number_of(function)
        types, structs = tables.types.get(number), tables.structs.get(number, ())
        if types is None or not self._change.structs.isdisjoint(structs):
            return None
        return types, set(structs)

    def rows(self, function: Fn) -> dict[Span, tuple[Fn, ...] | None]:
        """Return what the calls of a function resolve to, as far as it is known and holds."""
        tables = self._tables_holding(function)
        return tables.answers.of(number_of(function)) if tables is not None else {}

    def _tables_holding(self, function: Fn) -> Tables | None:
        """Return what is known of a file if answers for one of its functions may hold."""
        tables = self._tables_of(function.unit.path) if self._has_answers else None
        if tables is None or (self._change.passing and self._place_of(function) in self._change.passing):
            return None
        structs = tables.structs.get(number_of(function), ())
        return tables if self._change.structs.isdisjoint(structs) else None

    def _told_by(self, path: str) -> Callable[[object], Any]:
        def told(key: object) -> Any:
            return self._told_of(path).get(_name_of(key))

        return told

    def _told_of(self, path: str) -> dict[str, Any]:
        found = self._told.get(path)
        if found is None:
            found = self._told[path] = (
                told_in(self._part(path), self._units[path]) if path in self._same else {}
            )
        return found

    def _tables_of(self, path: str) -> Tables | None:
        found = self._tables.get(path)
        if found is None and path in self._same:
            found = self._tables[path] = tables_in(self._part(path))
            found.answers.open(self._is_changed, self._at)
        return found

    def _part(self, path: str) -> Part:
        kept = self._before[path]
        return Part(kept.told, kept.tables)

    def _is_changed(self, looked: Looked) -> bool:
        """Say whether a name that was looked up for a call may stand for something else now."""
        names = self._change.names
        if looked.name in names:
            return True
        return looked.is_path and (not self._has_paths or looked.target in names)

    def _at(self, place: Place) -> Fn | None:
        """Return the function of a place: of a name that has not changed, as many stand where they stood."""
        path, name, number = place
        unit = self._units.get(path)
        named = self._named(unit).get(name, ()) if unit is not None and name not in self._change.names else ()
        return named[number] if number < len(named) else None

    def _place_of(self, function: Fn) -> Place:
        named = self._named(function.unit)[function.name]
        return function.unit.path, function.name, named.index(function)

    def _named(self, unit: Unit) -> dict[str, list[Fn]]:
        found = self._numbered.get(unit.path)
        if found is None:
            found = self._numbered[unit.path] = {}
            for function in unit.functions or ():
                found.setdefault(function.name, []).append(function)
        return found

    # -- what has changed --------------------------------------------------------------------------------

    def _changed(self) -> _Change:
        memory = self._memory
        if memory is None:
            return _Change(frozenset(), frozenset(), self._passing)
        names, structs = {*memory.stale_names}, {*memory.stale_structs}
        for path in self._files.keys() | memory.files.keys():
            if path in self._same:
                continue
            then, now = memory.files.get(path, _NOTHING), self._files.get(path, _NOTHING)
            names |= _differing(then.names, now.names)
            structs |= _differing(then.structs, now.structs)
            if then.splices or now.splices:
                names.update(memory.spliced, self._spliced())
        return _Change(frozenset(names), frozenset(structs), self._passing.union(memory.stale_passing))

    def _spliced(self) -> set[str]:
        return {name for names in self._workspace.expansions.values() for name in names}

    def _as_it_is(self, unit: Unit, stand: str) -> KeptFile:
        around = self._around(unit)
        names: dict[str, list[object]] = {}
        for function in unit.functions or ():
            names.setdefault(function.name, []).append(_plain(resolved_by(function)))
        # A macro elsewhere may make functions of the names that it is given here.
        for macro, name in self._workspace.names_given_to_macros(unit):
            names.setdefault(name, []).append(macro)
        structs: dict[str, list[object]] = {}
        for name, fields_ in unit.struct_fields:
            structs.setdefault(name, []).append(_plain(fields_))
        return KeptFile(
            stand,
            {name: _digest((around, told)) for name, told in names.items()},
            {name: _digest(told) for name, told in structs.items()},
            any(function.facts.has_spliced_name for function in unit.functions or ()),
            b"",
            b"",
        )

    def _stand(self, unit: Unit) -> str:
        """Tell what decides whether a file is the same one in the same place."""
        return f"{unit.blob_id} {self._around(unit)}"

    def _around(self, unit: Unit) -> str:
        """Tell where a file stands in the workspace."""
        folder = unit.package.folder if unit.package is not None else ""
        package = self._packages.get(folder)
        if package is None or unit.package is None:
            package = _digest(_plain(unit.package))
            if unit.package is not None:
                self._packages[folder] = package
        told = (
            package,
            unit.module,
            _plain(unit.module_cfgs),
            unit.is_in_module_tree,
            unit.target_kind,
        )
        return _digest(told)

    # -- writing -----------------------------------------------------------------------------------------

    def learned(self) -> dict[str, tuple[bytes, ...]]:
        """Return what was found out here about files of which little was known, by path."""
        return {
            path: tuple(self._written(unit)) for path, unit in self._units.items() if not self._is_known(unit)
        }

    def add(self, learned: Mapping[str, tuple[bytes, ...]]) -> None:
        """Take what a copy of this process has found out."""
        for path, part in learned.items():
            self._elsewhere.setdefault(path, []).append(Part(*part))

    def _is_known(self, unit: Unit) -> bool:
        if unit.path not in self._same:
            return False
        known = self._told_of(unit.path)
        return all(name in known for name in map(_name_of, unit.told) if name)

    def memory(self) -> Memory:
        """Return what the next scan is to know."""
        before = self._memory
        is_afresh = before is None or before.outlook != self._outlook or len(self._change.names) > _MOST_STALE
        files = {}
        for path, one in self._files.items():
            others = self._elsewhere.get(path, ())
            if is_afresh or others or not self._is_known(self._units[path]):
                part = self._written(self._units[path], others)
            else:
                part = self._part(path)
            files[path] = one._replace(told=part.told, tables=part.tables)
        return Memory(
            self._outlook,
            () if is_afresh else tuple(self._change.names),
            () if is_afresh else tuple(self._change.structs),
            tuple(self._passing if is_afresh else self._change.passing),
            tuple(self._spliced()),
            files,
        )

    def _written(self, unit: Unit, others: Sequence[Part] = ()) -> Part:
        """Write what is known of a file, with what other processes have found out."""
        told: dict[str, Any] = {}
        types: dict[int, dict[str, str]] = {}
        structs: dict[int, set[str]] = {}
        rows: Rows = {}
        for part in others:
            tables = tables_in(part)
            tables.answers.open(lambda looked: False, self._anywhere)
            told |= told_in(part, unit)
            types |= tables.types
            for number, names in tables.structs.items():
                structs.setdefault(number, set()).update(names)
            for number in range(len(unit.functions or ())):
                rows.setdefault(number, {}).update(tables.answers.rows(number))
        told |= self._told_of(unit.path)
        told |= {name: value for key, value in unit.told.items() if (name := _name_of(key))}
        given = self._given
        for number, function in enumerate(unit.functions or ()):
            known = given.types_of(function)
            if known is not None:
                types[number] = known
            if function in given.structs:
                structs.setdefault(number, set()).update(given.structs[function])
            own = rows.setdefault(number, {})
            kept = self._tables_holding(function)
            if kept is not None:
                own.update(kept.answers.rows(number))
            own.update(self._rows_found(function))
        return part_of(
            told,
            types,
            {number: tuple(names) for number, names in structs.items() if names},
            {number: own for number, own in rows.items() if own},
        )

    def _rows_found(self, function: Fn) -> Iterator[tuple[Span, Row]]:
        """Yield what was found out in this scan; what a macro is given is looked up each time."""
        uses = self._uses(function.unit)
        rows = self._given.answers.get(function, {})
        for call in self._given.found().get(function, ()):
            span = call.start, call.end
            callees = rows.get(span)
            if callees is None or call.kind == CallKind.MACRO:
                continue
            is_path = call.kind != CallKind.METHOD
            target = uses.get(call.name) if is_path else None
            looked = Looked(call.name, is_path, target[-1] if target is not None else "")
            yield span, Row(looked, tuple(map(self._place_of, callees)))

    def _anywhere(self, place: Place) -> Fn | None:
        path, name, number = place
        return self._named(self._units[path])[name][number]


_NOTHING = KeptFile("", {}, {}, False, b"", b"")


def _differing(then: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    return {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}


def _outlook(world: World) -> tuple[str, str, str]:
    """Tell what all answers depend on: who sees whom, which traits there are, and what paths lead through."""
    return _digest(_plain(world.visible)), _digest(sorted(world.traits)), _digest(_plain(world.facades))


def _plain(value: object) -> object:
    """Return a value in an order that does not change from process to process."""
    if isinstance(value, Mapping):
        return sorted((_plain(key), _plain(one)) for key, one in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=repr)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if is_dataclass(value):
        return tuple(_plain(getattr(value, field.name)) for field in fields(value))
    return value


def _digest(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


@lru_cache(maxsize=4096)
def _name_of(key: object) -> str:
    """Name what something is told under: the same in every process; empty for what has no such name."""
    if isinstance(key, FunctionType):
        return "" if "<" in key.__qualname__ else f"{key.__module__}.{key.__qualname__}"
    if isinstance(key, (str, bytes, int)):
        return repr(key)
    if isinstance(key, tuple):
        names = [_name_of(one) for one in key]
        return f"({','.join(names)})" if all(names) else ""
    return ""

"""What was found out about a linked workspace, kept as bytes for the next scan of the same tree.

Kept is what is told of a file and its place alone, and what calls resolve to. Both are used again under the
conditions under which they are carried from commit to commit in memory: a file that stands as it stood, and
no change to a name, struct, trait, re-export or package that was looked up. The bytes of a file are read when
something is asked of it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from types import FunctionType
from typing import Any, NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.link.given import Given, World, holds
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace

_DIGEST_BYTES = 16
# So many names that have changed since, and so many parts of one file: then all is written anew.
_MOST_STALE = 400
_MOST_PARTS = 4
# What may be made of kept bytes; nothing else is, and no other function is called.
_KINDS = frozenset(
    {
        ("audit.scanner.extract.facts", "Call"),
        ("audit.scanner.judge", "Candidate"),
        ("audit.scanner.link.cfg", "Cfg"),
        ("audit.scanner.link.comments", "CommentBlock"),
        ("audit.scanner.link.gated", "Gated"),
        ("audit.scanner.ptx.texts", "StringConstant"),
        ("audit.scanner.vocabulary", "Phrase"),
    }
)
_UNREADABLE = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)

Place = tuple[str, int]
Parts = dict[str, list[bytes]]


class KeptFile(NamedTuple):
    """A file as it stood: what it was, which names and structs it defines, and what was found out."""

    stand: str
    names: tuple[str, ...]
    structs: tuple[str, ...]
    splices: bool
    parts: tuple[bytes, ...]


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


class _FilePart(NamedTuple):
    """What is kept of one file; functions by their number in it."""

    told: dict[str, Any]
    types: dict[int, dict[str, str]]
    structs: dict[int, tuple[str, ...]]
    answers: dict[int, dict[tuple[int, int], tuple[Place, ...]]]


@dataclass(frozen=True, slots=True)
class _Change:
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
        self._files = {path: self._as_it_is(unit) for path, unit in self._units.items()}
        before = memory.files if memory is not None else {}
        self._read: dict[str, _FilePart] = {}
        self._same = {
            path for path, one in self._files.items() if path in before and before[path].stand == one.stand
        }
        self._given = Given()
        self._rows: dict[Fn, dict[tuple[int, int], tuple[Place, ...]]] = {}
        self._has_paths = self._has_answers = False
        self._change = _Change(frozenset(), frozenset(), frozenset())
        self._outlook = ("", "", "")
        self._passing: frozenset[Place] = frozenset()
        self._elsewhere: dict[str, list[bytes]] = {}
        for path in self._same:
            self._units[path].recall = self._told_by(path)

    # -- reading -----------------------------------------------------------------------------------------

    def given(self, world: World, uses: Callable[[Unit], Mapping[str, tuple[str, ...]]]) -> Given:
        """Return the answers that hold in this world, each looked up when it is asked for."""
        self._outlook = _outlook(world)
        self._passing = frozenset(map(self._place_of, world.passing))
        self._change = self._changed()
        self._uses = uses
        memory = self._memory
        if memory is not None:
            self._has_answers = memory.outlook[:2] == self._outlook[:2]
            self._has_paths = memory.outlook[2] == self._outlook[2]
        self._given = Given(world, recalled=self if memory is not None else None)
        return self._given

    def types(self, function: Fn) -> tuple[dict[str, str], set[str]] | None:
        """Return the types of a function's locals, and the structs that they were told from."""
        part = self._part(function.unit.path)
        number = self._number(function)
        structs = part.structs.get(number, ()) if part is not None else ()
        if part is None or number not in part.types or not self._change.structs.isdisjoint(structs):
            return None
        return part.types[number], set(structs)

    def answer(self, function: Fn, call: Call) -> tuple[Fn, ...] | None:
        """Return what a call resolves to, as far as it is known and holds."""
        rows = self._rows.get(function)
        if rows is None:
            rows = self._rows[function] = self._rows_of(function)
        places = rows.get((call.start, call.end)) if rows else None
        if places is None or not holds(
            call, self._uses(function.unit), self._change.names, paths_hold=self._has_paths
        ):
            return None
        found = tuple(one for one in map(self._at, places) if one is not None)
        return found if len(found) == len(places) else None

    def _rows_of(self, function: Fn) -> dict[tuple[int, int], tuple[Place, ...]]:
        part = self._part(function.unit.path) if self._has_answers else None
        number = self._number(function)
        if (
            part is None
            or self._place_of(function) in self._change.passing
            or not self._change.structs.isdisjoint(part.structs.get(number, ()))
        ):
            return {}
        return part.answers.get(number, {})

    def _told_by(self, path: str) -> Callable[[object], Any]:
        def told(key: object) -> Any:
            part = self._part(path)
            return part.told.get(_name_of(key)) if part is not None else None

        return told

    def _part(self, path: str) -> _FilePart | None:
        if path not in self._same or self._memory is None:
            return None
        found = self._read.get(path)
        if found is None:
            unit = self._units[path]
            found = self._read[path] = _joined(
                [_loaded(part, unit) for part in self._memory.files[path].parts]
            )
        return found

    def _at(self, place: Place) -> Fn | None:
        unit = self._units.get(place[0])
        functions = unit.functions if unit is not None else None
        if place[0] not in self._same or functions is None or place[1] >= len(functions):
            return None
        return functions[place[1]]

    def _place_of(self, function: Fn) -> Place:
        return function.unit.path, self._number(function)

    @staticmethod
    def _number(function: Fn) -> int:
        functions = function.unit.functions
        return function.index - functions[0].index if functions else 0

    # -- what has changed --------------------------------------------------------------------------------

    def _changed(self) -> _Change:
        memory = self._memory
        if memory is None:
            return _Change(frozenset(), frozenset(), self._passing)
        changed = [one for path, one in self._files.items() if path not in self._same]
        changed += [one for path, one in memory.files.items() if path not in self._same]
        names = {name for one in changed for name in one.names}.union(memory.stale_names)
        if any(one.splices for one in changed):
            names.update(memory.spliced, self._spliced())
        structs = {name for one in changed for name in one.structs}.union(memory.stale_structs)
        return _Change(frozenset(names), frozenset(structs), self._passing.union(memory.stale_passing))

    def _spliced(self) -> set[str]:
        return {name for names in self._workspace.expansions.values() for name in names}

    def _as_it_is(self, unit: Unit) -> KeptFile:
        functions = unit.functions or []
        names = {function.name for function in functions}
        # A macro elsewhere may make functions of the names that it is given here.
        names.update(self._workspace.names_given_to_macros(unit))
        return KeptFile(
            self._stand(unit),
            tuple(names),
            tuple({name for name, _ in unit.struct_fields}),
            any(function.facts.has_spliced_name for function in functions),
            (),
        )

    def _stand(self, unit: Unit) -> str:
        """Tell what decides whether a file is the same one in the same place."""
        folder = unit.package.folder if unit.package is not None else ""
        package = self._packages.get(folder)
        if package is None or unit.package is None:
            package = _digest(_plain(unit.package))
            if unit.package is not None:
                self._packages[folder] = package
        told = (
            unit.blob_id,
            package,
            unit.module,
            _plain(unit.module_cfgs),
            unit.is_in_module_tree,
            unit.target_kind,
        )
        return _digest(told)

    # -- writing -----------------------------------------------------------------------------------------

    def learned(self) -> dict[str, bytes]:
        """Return what was found out here about files of which little was known, by path."""
        return {path: self._dumped(unit) for path, unit in self._units.items() if not self._is_known(unit)}

    def add(self, learned: Mapping[str, bytes]) -> None:
        """Take what a copy of this process has found out."""
        for path, part in learned.items():
            self._elsewhere.setdefault(path, []).append(part)

    def _is_known(self, unit: Unit) -> bool:
        part = self._part(unit.path) if unit.path in self._same else None
        return part is not None and all(name in part.told for name in map(_name_of, unit.told) if name)

    def memory(self) -> Memory:
        """Return what the next scan is to know."""
        before = self._memory
        is_afresh = before is None or before.outlook != self._outlook or len(self._change.names) > _MOST_STALE
        files = {}
        for path, one in self._files.items():
            kept = () if before is None or path not in self._same else before.files[path].parts
            own: tuple[bytes, ...] = kept
            if is_afresh or not self._is_known(self._units[path]) or len(kept) > _MOST_PARTS:
                own = (self._dumped(self._units[path]),)
            files[path] = one._replace(parts=(*own, *self._elsewhere.get(path, ())))
        return Memory(
            self._outlook,
            () if is_afresh else tuple(self._change.names),
            () if is_afresh else tuple(self._change.structs),
            tuple(self._passing if is_afresh else self._change.passing),
            tuple(self._spliced()),
            files,
        )

    def _dumped(self, unit: Unit) -> bytes:
        part = self._part(unit.path)
        told = dict(part.told) if part is not None else {}
        told |= {name: value for key, value in unit.told.items() if (name := _name_of(key))}
        functions = unit.functions or []
        given = self._given
        for function in functions if part is not None else ():
            given.types_of(function)
            for call in function.facts.calls:
                given.answer_of(function, call)
        return _bytes_of(
            _FilePart(
                told,
                {number: given.types[one] for number, one in enumerate(functions) if one in given.types},
                {
                    number: tuple(given.structs[one])
                    for number, one in enumerate(functions)
                    if one in given.structs
                },
                {
                    number: {
                        span: tuple(map(self._place_of, callees))
                        for span, (_, callees) in given.answers[one].items()
                    }
                    for number, one in enumerate(functions)
                    if given.answers.get(one)
                },
            )
        )


def _joined(parts: Sequence[_FilePart]) -> _FilePart:
    """Put together what several processes and scans have found out about one file."""
    if len(parts) == 1:
        return parts[0]
    joined = _FilePart({}, {}, {}, {})
    for part in parts:
        joined.told.update(part.told)
        joined.types.update(part.types)
        for number, structs in part.structs.items():
            joined.structs[number] = (*joined.structs.get(number, ()), *structs)
        for number, rows in part.answers.items():
            joined.answers.setdefault(number, {}).update(rows)
    return joined


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


def _own_function(number: int) -> Fn:
    raise pickle.UnpicklingError(f"function {number} of no file")


def _own_file() -> Unit:
    raise pickle.UnpicklingError("no file")


def _bytes_of(part: _FilePart) -> bytes:
    """Write what is kept of a file; the file and its functions by number."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        Fn: lambda function: (_own_function, (Recalled._number(function),)),
        Unit: lambda unit: (_own_file, ()),
    }
    pickler.dump(tuple(part))
    return stream.getvalue()


class _Reader(pickle.Unpickler):
    """Makes what may be kept of a file, and nothing else."""

    def __init__(self, stream: io.BytesIO, unit: Unit) -> None:
        super().__init__(stream)
        self._unit = unit

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == "_own_function":
            return (self._unit.functions or []).__getitem__
        if module == __name__ and name == "_own_file":
            return lambda: self._unit
        if (module, name) not in _KINDS:
            raise pickle.UnpicklingError(f"{module}.{name} is nothing that is kept")
        return super().find_class(module, name)


def _loaded(data: bytes, unit: Unit) -> _FilePart:
    """Read what is kept of a file; nothing, where it can't be read."""
    try:
        part = _FilePart(*_Reader(io.BytesIO(data), unit).load())
    except _UNREADABLE:
        return _FilePart({}, {}, {}, {})
    return part if all(isinstance(one, dict) for one in part) else _FilePart({}, {}, {}, {})

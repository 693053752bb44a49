"""What is kept of one file as bytes: what was told of it, the types of locals, and what calls resolve to.

What was told holds values of several kinds and is pickled; the rest is numbers and names. A reader makes
plain values, and of other kinds those that are listed here. What can't be read counts as nothing.
"""

from __future__ import annotations

import io
import marshal
import pickle
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from audit.scanner.link.unit import Fn, Unit

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
_INTEGER = "I"

# A function by its file, its name, and how many of that name stand before it.
Place = tuple[str, str, int]
Span = tuple[int, int]


class Looked(NamedTuple):
    """What was looked up to resolve a call: its name, and for a path what the name stands for in the file."""

    name: str
    is_path: bool
    target: str


class Row(NamedTuple):
    """What a call resolves to."""

    looked: Looked
    places: tuple[Place, ...]


Rows = dict[int, dict[Span, Row]]


class Part(NamedTuple):
    """What is known of a file, each as bytes."""

    told: bytes
    tables: bytes


class Tables(NamedTuple):
    """What is known of the functions of a file, by their number in it."""

    types: dict[int, dict[str, str]]
    structs: dict[int, tuple[str, ...]]
    answers: Answers


class Answers:
    """What the calls of a file resolve to: rows of four numbers, those of one function side by side."""

    def __init__(
        self,
        functions: Mapping[int, Span] | None = None,
        looked: tuple[tuple[str, bool, str], ...] = (),
        found: tuple[tuple[Place, ...], ...] = (),
        columns: Sequence[bytes] = (b"", b"", b"", b""),
    ) -> None:
        self._functions = functions or {}
        self._looked = [Looked(*one) for one in looked]
        self._places = found
        self._starts, self._ends, self._looked_at, self._found_at = (
            array(_INTEGER, column) for column in columns
        )
        lengths = {len(self._starts), len(self._ends), len(self._looked_at), len(self._found_at)}
        if len(lengths) > 1:
            raise ValueError("columns of different lengths")
        self._found: list[tuple[Fn, ...] | None] = []
        self._changed: frozenset[int] = frozenset()

    def open(self, is_changed: Callable[[Looked], bool], at: Callable[[Place], Fn | None]) -> None:
        """Tell which of the names that were looked up may stand for something else, and what stands where."""
        self._changed = frozenset(index for index, one in enumerate(self._looked) if is_changed(one))
        for places in self._places:
            found = tuple(one for one in map(at, places) if one is not None)
            self._found.append(found if len(found) == len(places) else None)

    def of(self, number: int) -> dict[Span, tuple[Fn, ...] | None]:
        """Return the answers of a function that hold, by span; None where a callee is not what it was."""
        first, last = self._functions.get(number, (0, 0))
        spans = zip(self._starts[first:last], self._ends[first:last], strict=True)
        found = map(self._found.__getitem__, self._found_at[first:last])
        if not self._changed:
            return dict(zip(spans, found, strict=True))
        looked = self._looked_at[first:last]
        return {
            span: one
            for span, one, index in zip(spans, found, looked, strict=True)
            if index not in self._changed
        }

    def rows(self, number: int) -> Iterator[tuple[Span, Row]]:
        """Yield the rows of a function that hold."""
        for index in range(*self._functions.get(number, (0, 0))):
            found = self._found_at[index]
            if self._looked_at[index] not in self._changed and self._found[found] is not None:
                looked = self._looked[self._looked_at[index]]
                yield (self._starts[index], self._ends[index]), Row(looked, self._places[found])


def part_of(
    told: Mapping[str, Any],
    types: dict[int, dict[str, str]],
    structs: dict[int, tuple[str, ...]],
    rows: Rows,
) -> Part:
    """Write what is known of a file; its functions by number."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        Fn: lambda function: (_own_function, (number_of(function),)),
        Unit: lambda unit: (_own_file, ()),
    }
    pickler.dump(dict(told))
    return Part(stream.getvalue(), marshal.dumps((types, structs, _columns(rows))))


def _columns(rows: Rows) -> tuple[Any, ...]:
    functions: dict[int, Span] = {}
    looked: dict[Looked, int] = {}
    found: dict[tuple[Place, ...], int] = {}
    columns = [array(_INTEGER) for _ in range(4)]
    for number, own in rows.items():
        first = len(columns[0])
        for (start, end), row in own.items():
            values = (
                start,
                end,
                looked.setdefault(row.looked, len(looked)),
                found.setdefault(row.places, len(found)),
            )
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        functions[number] = first, len(columns[0])
    return functions, tuple(map(tuple, looked)), tuple(found), [one.tobytes() for one in columns]


def told_in(part: Part, unit: Unit) -> dict[str, Any]:
    """Read what was told of a file."""
    try:
        told = _Reader(io.BytesIO(part.told), unit).load()
    except _UNREADABLE:
        return {}
    return told if isinstance(told, dict) else {}


def tables_in(part: Part) -> Tables:
    """Read what is known of the functions of a file."""
    try:
        types, structs, answers = marshal.loads(part.tables)  # noqa: S302  whole, says the checksum, and no code
        tables = Tables(types, structs, Answers(*answers))
    except _UNREADABLE:
        return Tables({}, {}, Answers())
    return tables if isinstance(types, dict) and isinstance(structs, dict) else Tables({}, {}, Answers())


def number_of(function: Fn) -> int:
    """Return the number of a function in its file."""
    functions = function.unit.functions
    return function.index - functions[0].index if functions else 0


def _own_function(number: int) -> Fn:
    raise pickle.UnpicklingError(f"function {number} of no file")


def _own_file() -> Unit:
    raise pickle.UnpicklingError("no file")


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

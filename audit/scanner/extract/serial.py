"""Facts as bytes: a checksum, a version, and columns of plain values as `marshal` writes them.

Reading them runs no code. `marshal` trusts what it reads to be whole, so the checksum is compared first: it
tells damage, not malice, and a cache is to be as well guarded as the code that reads it. What it writes is
only for the same version of Python, which is part of the version here.
"""

from __future__ import annotations

import marshal
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, TypeVar
from zlib import crc32

from audit.scanner.extract.facts import (
    EXTRACTOR_VERSION,
    Call,
    Exit,
    FileFacts,
    Function,
    Item,
    Let,
    MacroDefinition,
    Parameter,
    Region,
    Scope,
    Use,
)

_LAYOUT = 2
FORMAT_VERSION = f"{EXTRACTOR_VERSION}.{_LAYOUT}-{sys.byteorder}-{sys.implementation.cache_tag}"
_CHECKSUM_BYTES = 4
_INTEGERS = "i"
Row = TypeVar("Row", bound=tuple[Any, ...])
Columns = Sequence[Sequence[Any]]

# What named tuples make themselves of, without the detour through their constructors.
_new = tuple.__new__


class FactsFormatError(Exception):
    """The bytes are no facts of this version."""


def dump_facts(facts: FileFacts) -> bytes:
    """Write facts."""
    body = marshal.dumps((FORMAT_VERSION, _written(facts)))
    return crc32(body).to_bytes(_CHECKSUM_BYTES, "little") + body


def load_facts(data: bytes) -> FileFacts:
    """Read facts back, equal to those that were written."""
    body = memoryview(data)[_CHECKSUM_BYTES:]
    # Nothing at all has a checksum of zeros.
    if not body or crc32(body).to_bytes(_CHECKSUM_BYTES, "little") != data[:_CHECKSUM_BYTES]:
        raise FactsFormatError("damaged facts: the checksum is another")
    version, written = marshal.loads(body)  # noqa: S302  whole, as the checksum says, and no code
    if version != FORMAT_VERSION:
        raise FactsFormatError(f"facts of version {version}, not {FORMAT_VERSION}")
    return _read(written)


def _written(facts: FileFacts) -> tuple[Any, ...]:
    return (
        *facts[:3],
        _table(facts.scopes),
        _functions_written(facts.functions),
        _table(facts.items),
        _table(facts.uses),
        _table(facts.macros),
        _table(facts.calls),
        _table(facts.strings),
        _table(facts.comments),
        _table(facts.errors),
    )


def _functions_written(functions: Sequence[Function]) -> tuple[Any, ...]:
    lists = list(dict.fromkeys(one.parameters for one in functions))
    index = {parameters: number for number, parameters in enumerate(lists)}
    return (
        _table([(*one[:11], index[one.parameters], *one[12:17]) for one in functions]),
        tuple(tuple(map(tuple, parameters)) for parameters in lists),
        _nested([one.regions for one in functions]),
        _nested([one.calls for one in functions]),
        _nested([one.exits for one in functions]),
        _nested([one.lets for one in functions]),
    )


def _nested(parts: Iterable[Sequence[tuple[Any, ...]]]) -> tuple[Any, ...]:
    parts = list(parts)
    return array(_INTEGERS, map(len, parts)).tobytes(), _table(list(chain.from_iterable(parts)))


def _table(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the columns of rows, numbers as the machine has them."""
    return tuple(
        array(_INTEGERS, column).tobytes() if type(column[0]) is int else column
        for column in zip(*rows, strict=True)
    )


def _read(written: tuple[Any, ...]) -> FileFacts:
    return _new(
        FileFacts,
        (
            *written[:3],
            _rows(Scope, written[3]),
            _functions(*written[4]),
            _rows(Item, written[5]),
            _rows(Use, written[6]),
            _rows(MacroDefinition, written[7]),
            _rows(Call, written[8]),
            *map(_spans, written[9:]),
        ),
    )


def _functions(table: Columns, lists: Sequence[Any], *nested: tuple[bytes, Columns]) -> tuple[Function, ...]:
    if not table:
        return ()
    known = [_plain_rows(Parameter, parameters) for parameters in lists]
    columns = list(map(_column, table))
    parameters = [known[index] for index in columns[11]]
    events: Iterable[Any] = map(_events, (Region, Call, Exit, Let), nested)
    rows = zip(*columns[:11], parameters, *columns[12:], *events, strict=True)
    return tuple(map(_new, repeat(Function), rows))


def _events(kind: type[Row], nested: tuple[bytes, Columns]) -> list[tuple[Row, ...]]:
    """Return the events of each function."""
    counts, rows = _integers(nested[0]), _rows(kind, nested[1])
    return [rows[end - count : end] for end, count in zip(accumulate(counts), counts, strict=True)]


def _rows(kind: type[Row], table: Columns) -> tuple[Row, ...]:
    return _plain_rows(kind, zip(*map(_column, table), strict=True))


def _plain_rows(kind: type[Row], rows: Iterable[tuple[Any, ...]]) -> tuple[Row, ...]:
    """Make named tuples in C: facts are many."""
    return tuple(map(_new, repeat(kind), rows))


def _spans(table: Columns) -> tuple[tuple[int, int], ...]:
    return tuple(zip(*map(_column, table), strict=True))


def _column(written: Any) -> Sequence[Any]:
    return _integers(written) if type(written) is bytes else written


def _integers(written: bytes) -> Sequence[int]:
    return array(_INTEGERS, written)

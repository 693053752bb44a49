"""Facts as bytes: a checksum, a version, and plain tuples as `marshal` writes them.

Reading them runs no code. `marshal` trusts what it reads to be whole, so the checksum is compared first: it
tells damage, not malice, and a cache is to be as well guarded as the code that reads it. What it writes is
only for the same version of Python, which is part of the version here.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterable
from hashlib import blake2b
from itertools import repeat
from typing import Any, TypeVar

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

FORMAT_VERSION = f"{EXTRACTOR_VERSION}-{sys.implementation.cache_tag}"
_DIGEST_BYTES = 16
Row = TypeVar("Row", bound=tuple[Any, ...])


class FactsFormatError(Exception):
    """The bytes are no facts of this version."""


def dump_facts(facts: FileFacts) -> bytes:
    """Write facts."""
    body = marshal.dumps((FORMAT_VERSION, _plain(facts)))
    return blake2b(body, digest_size=_DIGEST_BYTES).digest() + body


def load_facts(data: bytes) -> FileFacts:
    """Read facts back, equal to those that were written."""
    body = data[_DIGEST_BYTES:]
    if blake2b(body, digest_size=_DIGEST_BYTES).digest() != data[:_DIGEST_BYTES]:
        raise FactsFormatError("damaged facts: the checksum is another")
    version, row = marshal.loads(body)  # noqa: S302  whole, as the checksum says, and no code
    if version != FORMAT_VERSION:
        raise FactsFormatError(f"facts of version {version}, not {FORMAT_VERSION}")
    return _facts(row)


def _plain(facts: FileFacts) -> tuple[Any, ...]:
    return (
        *facts[:3],
        _tuples(facts.scopes),
        tuple([_plain_function(one) for one in facts.functions]),
        _tuples(facts.items),
        _tuples(facts.uses),
        _tuples(facts.macros),
        _tuples(facts.calls),
        *facts[9:],
    )


def _plain_function(function: Function) -> tuple[Any, ...]:
    return (
        *function[:11],
        _tuples(function.parameters),
        *function[12:17],
        _tuples(function.regions),
        _tuples(function.calls),
        _tuples(function.exits),
        _tuples(function.lets),
    )


def _tuples(rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(tuple, rows))


def _facts(row: tuple[Any, ...]) -> FileFacts:
    return tuple.__new__(
        FileFacts,
        (
            *row[:3],
            _rows(Scope, row[3]),
            tuple([_function(one) for one in row[4]]),
            _rows(Item, row[5]),
            _rows(Use, row[6]),
            _rows(MacroDefinition, row[7]),
            _rows(Call, row[8]),
            *row[9:],
        ),
    )


def _function(row: tuple[Any, ...]) -> Function:
    return tuple.__new__(
        Function,
        (
            *row[:11],
            _rows(Parameter, row[11]),
            *row[12:17],
            _rows(Region, row[17]),
            _rows(Call, row[18]),
            _rows(Exit, row[19]),
            _rows(Let, row[20]),
        ),
    )


def _rows(kind: type[Row], rows: tuple[tuple[Any, ...], ...]) -> tuple[Row, ...]:
    """Make named tuples in C: facts are many."""
    return tuple(map(tuple.__new__, repeat(kind), rows)) if rows else ()

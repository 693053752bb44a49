"""Facts as bytes: compact, versioned JSON of nested lists. Reading it runs no code."""

from __future__ import annotations

import json
from typing import Any

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


class FactsFormatError(Exception):
    """The bytes are no facts of this version."""


def dump_facts(facts: FileFacts) -> bytes:
    """Write facts. Named tuples become lists in C."""
    return json.dumps(facts, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def load_facts(data: bytes) -> FileFacts:
    """Read facts back, equal to those that were written."""
    try:
        row = json.loads(data)
        if row[0] != EXTRACTOR_VERSION:
            raise FactsFormatError(f"facts of version {row[0]}, not {EXTRACTOR_VERSION}")
        return _facts(row)
    except (ValueError, TypeError, IndexError) as error:
        raise FactsFormatError(f"damaged facts: {error}") from error


def _facts(row: list[Any]) -> FileFacts:
    (version, line_count, inner, scopes, functions, items, uses, macros, calls, strings, comments, errors) = (
        row
    )
    return FileFacts(
        version,
        line_count,
        tuple(inner),
        tuple(Scope._make((*one[:9], tuple(one[9]), one[10])) for one in scopes),
        tuple(_function(one) for one in functions),
        tuple(Item._make((*one[:7], tuple(one[7]))) for one in items),
        tuple(Use(*one) for one in uses),
        tuple(MacroDefinition._make((*one[:4], tuple(one[4]))) for one in macros),
        tuple(Call(*one) for one in calls),
        tuple((start, end) for start, end in strings),
        tuple((start, end) for start, end in comments),
        tuple((start, end) for start, end in errors),
    )


def _function(row: list[Any]) -> Function:
    return Function._make(
        (
            *row[:11],
            tuple(Parameter(*one) for one in row[11]),
            row[12],
            tuple(row[13]),
            *row[14:17],
            tuple(Region(*one) for one in row[17]),
            tuple(Call(*one) for one in row[18]),
            tuple(Exit(*one) for one in row[19]),
            tuple(Let(*one) for one in row[20]),
        )
    )

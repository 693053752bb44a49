"""JSON to dataclasses and named tuples and back, strictly: what is not declared is refused by its place."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

#: A document larger than this is refused unread: evidence is collapsed and capped far below it.
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024


class MalformedError(ValueError):
    """A document that is not what its class declares. The text names the place and what stood there."""


def to_json(value: object) -> Any:
    """Turn a dataclass or a named tuple into what `json.dumps` takes."""
    kind: Any = type(value)
    if _is_record(kind):
        return {name: to_json(getattr(value, name)) for name in _required(kind)}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    return value


def canonical_bytes(value: object) -> bytes:
    """Give the one spelling that is signed: sorted keys, no spaces, ASCII."""
    return json.dumps(to_json(value), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def from_bytes(cls: type[T], raw: bytes) -> T:
    """Read a document from JSON text."""
    return from_json(cls, parse(raw))


def parse(raw: bytes) -> Any:
    """Parse JSON text that comes from outside."""
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise MalformedError(f"document of {len(raw)} bytes: the limit is {MAX_DOCUMENT_BYTES}")
    try:
        return json.loads(raw, parse_constant=_refuse_constant, object_pairs_hook=_unique_pairs)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {error}") from error


def from_json(cls: type[T], value: Any, at: str = "document") -> T:
    """Build `cls` from parsed JSON, or say where it departs from the declaration."""
    return typing.cast("T", _read(cls, value, at))


def _refuse_constant(name: str) -> float:
    raise ValueError(f"`{name}` is not JSON")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key `{key}` stands twice in one object")
        found[key] = value
    return found


def _read(kind: Any, value: Any, at: str) -> Any:
    return _reader(kind)(kind, value, at)


# A document has thousands of values of a few types.
@cache
def _reader(kind: Any) -> Callable[[Any, Any, str], Any]:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _read_optional
    if origin is tuple:
        return _read_tuple
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping
    if _is_record(kind):
        return _read_record
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _read_name
    return _read_scalar


def _read_optional(kind: Any, value: Any, at: str) -> Any:
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    if value is None:
        return None
    if len(members) != 1:
        raise TypeError(f"{at}: only `X | None` unions have a JSON form")
    return _read(members[0], value, at)


def _read_tuple(kind: Any, value: Any, at: str) -> tuple[Any, ...]:
    item, rest = typing.get_args(kind)
    if rest is not Ellipsis:
        raise TypeError(f"{at}: only `tuple[X, ...]` has a JSON form")
    if not isinstance(value, list):
        raise MalformedError(f"{at}: expected a list, got {_shown(value)}")
    return tuple(_read(item, entry, f"{at}[{index}]") for index, entry in enumerate(value))


def _read_mapping(kind: Any, value: Any, at: str) -> dict[str, Any]:
    _, item = typing.get_args(kind)
    if not isinstance(value, dict):
        raise MalformedError(f"{at}: expected an object, got {_shown(value)}")
    return {key: _read(item, entry, f"{at}.{key}") for key, entry in value.items()}


def _read_record(kind: type, value: Any, at: str) -> Any:
    if not isinstance(value, dict):
        raise MalformedError(f"{at}: expected an object, got {_shown(value)}")
    hints = _hints(kind)
    unknown = sorted(value.keys() - hints.keys())
    if unknown:
        raise MalformedError(f"{at}: unknown key `{unknown[0]}`")
    given: dict[str, Any] = {}
    for name, is_required in _required(kind).items():
        if name in value:
            given[name] = _read(hints[name], value[name], f"{at}.{name}")
        elif is_required:
            raise MalformedError(f"{at}: key `{name}` is missing")
    try:
        return kind(**given)
    except MalformedError as error:
        raise MalformedError(f"{at}: {error}") from error


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _is_record(kind: Any) -> bool:
    """Say whether a class declares its fields: a dataclass, or a named tuple."""
    return dataclasses.is_dataclass(kind) or (
        isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    )


@cache
def _required(kind: Any) -> dict[str, bool]:
    """Say of each field of a record whether it must be given."""
    if not dataclasses.is_dataclass(kind):
        return {name: name not in kind._field_defaults for name in kind._fields}
    missing = dataclasses.MISSING
    return {
        field.name: field.default is missing and field.default_factory is missing
        for field in dataclasses.fields(kind)
    }


# What a column of 64 bits holds.
LARGEST_NUMBER = 2**63 - 1


def _read_name(kind: type[StrEnum], value: Any, at: str) -> StrEnum:
    if isinstance(value, str) and value in kind._value2member_map_:
        return kind(value)
    known = ", ".join(member.value for member in kind)
    raise MalformedError(f"{at}: expected one of {known}; got {_shown(value)}")


def _read_scalar(kind: Any, value: Any, at: str) -> Any:
    if kind is float and type(value) in (int, float):
        # `1e400` is read as infinity, which is no JSON and no measure either.
        if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
            raise MalformedError(f"{at}: a number beyond {LARGEST_NUMBER}")
        return float(value)
    if kind is int and type(value) is int and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        raise MalformedError(f"{at}: a number beyond {LARGEST_NUMBER}")
    if kind in (str, int, bool) and type(value) is kind:
        return _whole_text(value, at) if kind is str else value
    raise MalformedError(f"{at}: expected {_NAMES.get(kind, str(kind))}, got {_shown(value)}")


def _whole_text(value: str, at: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MalformedError(f"{at}: half a surrogate pair, which no text holds") from error
    return value


_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"

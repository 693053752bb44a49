"""Problems and schedules as JSON and back, so that what was solved can be proved and compared later."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Return a dataclass as dictionaries, lists, numbers and texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset):
        return sorted(to_plain(item) for item in value)
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return value


def from_plain(kind: type[T], value: Any) -> T:
    """Return what `to_plain` made of a dataclass, or raise where it is another one's."""
    read: _Reader = _reader(typing.cast("Any", kind))
    return typing.cast("T", read(value))


_Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any) -> _Reader:
    """Return what reads a type. A stored problem has thousands of values of a few types."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _optional(_reader(next(one for one in arguments if one is not type(None))))
    if origin is tuple and arguments[-1] is Ellipsis:
        return _many(_reader(arguments[0]), tuple)
    if origin is tuple:
        return _row([_reader(one) for one in arguments])
    if origin is frozenset:
        return _many(_reader(arguments[0]), frozenset)
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast("type", kind))
    if kind is datetime:
        return datetime.fromisoformat
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return _same


def _same(value: Any) -> Any:
    return value


def _optional(reader: _Reader) -> _Reader:
    return lambda value: None if value is None else reader(value)


def _many(reader: _Reader, kind: type) -> _Reader:
    return kind if reader is _same else lambda value: kind(map(reader, value))


def _row(readers: Sequence[_Reader]) -> _Reader:
    return lambda value: tuple(reader(item) for reader, item in zip(readers, value, strict=True))


def _dataclass(kind: type) -> _Reader:
    readers = {name: _reader(hint) for name, hint in typing.get_type_hints(kind).items()}
    return lambda value: kind(**{name: readers[name](item) for name, item in value.items()})

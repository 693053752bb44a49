"""Problems and schedules as JSON and back, so that what was solved can be proved and compared later."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
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
    return typing.cast("T", _read(kind, value))


def _read(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        known = [one for one in arguments if one is not type(None)]
        return None if value is None else _read(known[0], value)
    if origin is tuple:
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_read(one, item) for one, item in zip(kinds, value, strict=True))
    if origin is frozenset:
        return frozenset(_read(arguments[0], item) for item in value)
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast("type", kind))
        return typing.cast("type", kind)(**{name: _read(hints[name], item) for name, item in value.items()})
    if kind is datetime:
        return datetime.fromisoformat(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)

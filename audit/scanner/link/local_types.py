"""The bare types of locals, parameters, fields and elements, as far as a function's own text tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from audit.scanner.extract.facts import Call
from audit.scanner.extract.items import split_list
from audit.scanner.link.elements import element_type, opened_options, walked_lists
from audit.scanner.link.given import Given
from audit.scanner.link.unit import Fn, base_type
from audit.scanner.link.workspace import Workspace

_CONSTRUCTOR = re.compile(r"^&?(?:mut\s+)?((?:\w+::)*)([A-Z]\w*)(?:::<[^>]*>)?\s*(?:::\s*\w+|\{)")
_FIELD = re.compile(r"^(self|\w+)\.(\w+)$")
_IDENTIFIER = re.compile(r"^(?:ref\s+)?(?:mut\s+)?([a-z_]\w*)$")
_BREAK = re.compile(r"\s*\.\s*")
_POINTERS = frozenset({"Arc", "Box", "Rc", "Option", "RefCell", "Mutex", "RwLock", "Result"})
# What builds another type's value around it.
_AROUND = frozenset({"Ok", "Some", "Err", "Arc", "Box", "Rc"})
# So much of a value is looked at for the type that it builds.
_HEAD = 120


class _Kind(Enum):
    LOCAL = auto()
    FIELD = auto()
    ELEMENT = auto()
    SELF = auto()
    OTHER = auto()


class _Place(NamedTuple):
    """What stands before a method: a local, a field of one, an element of either."""

    kind: _Kind
    name: str = ""
    field: str = ""


class LocalTypes:
    """Answers for one workspace; what it finds out it leaves with what is `given` to the next."""

    def __init__(self, workspace: Workspace, given: Given) -> None:
        self._workspace = workspace
        self._given = given

    def of_receiver(self, function: Fn, call: Call) -> str:
        """Return the bare type name of what a method is called on, else an empty text."""
        return self._of(function, _receiver(function.unit.data[call.start : call.name_start]))

    def type_of(self, function: Fn, receiver: str) -> str:
        """Return the bare type name of a receiver where it can be told, else an empty text."""
        return self._of(function, _place(receiver))

    def _of(self, function: Fn, place: _Place) -> str:
        kind, name, field = place
        if kind is _Kind.LOCAL:
            return self.types(function).get(name, "")
        if kind is _Kind.SELF:
            return function.self_type
        if kind is _Kind.FIELD:
            return _unwrapped(self._field_type(function, name, field))
        if kind is _Kind.ELEMENT:
            return _unwrapped(element_type(self._declared(function, name)))
        return ""

    def _field_type(self, function: Fn, owner: str, name: str) -> str:
        type_ = function.self_type if owner == "self" else self.types(function).get(owner, "")
        self._given.structs.setdefault(function, set()).add(type_)
        return self._workspace.struct_fields.get(type_, {}).get(name, "")

    def _declared(self, function: Fn, place: str) -> str:
        """Return the type of a field or parameter as it is written."""
        field = _FIELD.match(place)
        if field is not None:
            return self._field_type(function, field[1], field[2])
        return next((one.type for one in function.facts.parameters if one.name == place), "")

    def types(self, function: Fn) -> dict[str, str]:
        """Return the bare types of a function's parameters and of locals whose types can be told."""
        found = self._given.types_of(function)
        if found is None:
            found = {
                parameter.name: _unwrapped(parameter.type)
                for parameter in function.facts.parameters
                if parameter.name != "self"
            }
            for name, type_ in _bound(function):
                if name not in found:
                    found[name] = type_
            self._given.types[function] = found
            for name, place in walked_lists(function):
                found.setdefault(name, _unwrapped(element_type(self._declared(function, place))))
            for name, place in opened_options(function):
                found.setdefault(name, self.type_of(function, place))
        return found


def _bound(function: Fn) -> Iterator[tuple[str, str]]:
    """Yield the locals whose lets say a type: by an annotation, or a constructor's path or braces."""
    data = function.unit.data
    for _, _, pattern_start, pattern_end, start, end, _ in function.facts.lets:
        between = data[pattern_end:start]
        if between == b" = " or b":" not in between:
            # Most say nothing: that is seen without reading the text.
            value = data[start : end if end - start < _HEAD else start + _HEAD]
            if b"::" not in value and b"{" not in value:
                continue
            type_ = _built(function, value)
        else:
            annotation = between.decode("utf-8", "replace").rstrip("= \n")
            if annotation.startswith(":"):
                type_ = _unwrapped(annotation[1:])
            else:
                type_ = _built(function, data[start : min(end, start + _HEAD)])
        if type_:
            name = _IDENTIFIER.match(data[pattern_start:pattern_end].decode("utf-8", "replace"))
            if name is not None:
                yield name[1], type_


def _built(function: Fn, value: bytes) -> str:
    """Return the type that a value is built of, by the beginning of its text."""
    built = _CONSTRUCTOR.match(value.decode("utf-8", "replace"))
    if built is None or built[2] in _AROUND:
        return ""
    return function.self_type if built[2] == "Self" else built[2]


@lru_cache(maxsize=8192)
def _receiver(written: bytes) -> _Place:
    return _place(written.decode("utf-8", "replace").rstrip(". \n\t"))


@lru_cache(maxsize=8192)
def _place(receiver: str) -> _Place:
    receiver = receiver.strip().lstrip("&*").removeprefix("mut ").strip("() ")
    if "\n" in receiver:
        # A chain that is broken into lines.
        receiver = _BREAK.sub(".", receiver)
    if receiver == "self":
        return _Place(_Kind.SELF)
    if receiver.endswith("]"):
        return _Place(_Kind.ELEMENT, receiver.partition("[")[0])
    field = _FIELD.match(receiver) if "." in receiver else None
    if field is not None:
        return _Place(_Kind.FIELD, field[1], field[2])
    return _Place(_Kind.LOCAL, receiver) if receiver.isidentifier() else _Place(_Kind.OTHER)


@lru_cache(maxsize=65_536)
def _unwrapped(type_: str) -> str:
    """Return the bare type inside smart pointers, options and references."""
    current = type_.strip()
    while True:
        bare = base_type(current)
        inner = re.search(rf"\b{bare}\s*<(.*)>", current) if bare in _POINTERS else None
        if inner is None:
            return bare
        current = next(iter(split_list(inner[1])), "")

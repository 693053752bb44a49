"""What type an expression has, as far as signatures tell, and what a method call then calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.extract.items import split_list
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn, base_type
from audit.scanner.link.workspace import Workspace

# What they return is in what they are called on, or is it.
_OPENING = ("unwrap", "expect", "unwrap_or_else", "unwrap_or_default", "ok", "ok_or", "ok_or_else", "map_err")
_SHARING = ("clone", "cloned", "to_owned", "as_ref", "as_mut", "borrow", "into", "lock")
_PASSING = frozenset((*_OPENING, *_SHARING))
_WRAPPERS = frozenset(("Option", "Box", "Arc", "Rc", "MutexGuard", "Ref"))
_BUILT = re.compile(r"^&?(?:mut\s+)?(?:\w+::)*([A-Z]\w*)(?:::<[^>]*>)?\s*\{")
_OPERATORS = {"+": ("Add", "add"), "-": ("Sub", "sub"), "*": ("Mul", "mul"), "/": ("Div", "div")}
_BINARY = re.compile(rb"&(\w+) ([+*/-]) &?\w+")
_DEPTH = 8
_MANY = 6


class Expressions:
    """Tells the types of receivers from lets, parameters and the return types of what is called."""

    def __init__(self, resolver: Resolver, workspace: Workspace) -> None:
        self._resolver = resolver
        self._workspace = workspace
        self._named: dict[tuple[str, str], list[Fn]] = {}

    def methods(self, function: Fn, call: Call) -> Sequence[Fn]:
        """Return what a method call calls; nothing where types with nothing in common have the method."""
        if call.name not in self._workspace.by_name:
            return ()
        type_ = self.receiver_type(function, call)
        own = [one for one in self._methods(type_, call.name) if one.has_body]
        if own:
            return own
        found = self._resolver.resolve(function, call)
        owners = {one.trait or one.self_type for one in found}
        return found if len(owners) < 2 else ()

    def _methods(self, type_: str, name: str) -> list[Fn]:
        """Return a type's methods of a name; a trait's are those of its implementations too."""
        if not type_:
            return []
        known = self._named.get((type_, name))
        if known is None:
            known = self._named[type_, name] = self._methods_named(type_, name)
        return known

    def _methods_named(self, type_: str, name: str) -> list[Fn]:
        named = self._workspace.by_name.get(name, ())
        if type_ not in self._workspace.trait_methods:
            return [one for one in named if one.self_type == type_]
        found = [one for one in named if one.trait == type_]
        # Behind a trait with many implementations any of them may stand: nothing is told.
        return found if len(found) <= _MANY else []

    def operators(self, function: Fn) -> list[Fn]:
        """Return the operator methods behind `&a + &b`, where the type of `a` can be told."""
        found = []
        facts = function.facts
        for match in _BINARY.finditer(function.unit.data, facts.body_start, facts.body_end):
            trait, name = _OPERATORS[match[2].decode()]
            type_ = self._type_of_name(function, match[1].decode(), match.start(), _DEPTH)
            if type_:
                found += [one for one in self._methods(type_, name) if one.trait == trait]
        return found

    def receiver_type(self, function: Fn, call: Call) -> str:
        """Return the bare type of what a method is called on, or an empty text."""
        return self._type(function, call.start, call.name_start, call.start, _DEPTH)

    def _type(self, function: Fn, start: int, end: int, before: int, depth: int) -> str:
        text = function.text(start, end)
        trimmed = text.rstrip(".?; \n\t")
        end = start + len(trimmed.encode())
        lead = len(trimmed) - len(trimmed.lstrip("&*( \n\t"))
        bare = trimmed[lead:].removeprefix("mut ").strip()
        if not depth or not bare:
            return ""
        if bare == "self":
            return function.self_type
        if bare.isidentifier():
            return self._type_of_name(function, bare, before, depth)
        built = _BUILT.match(bare)
        if built is not None:
            return function.self_type if built[1] == "Self" else built[1]
        outer = self._outermost(function, start, end)
        if outer is None:
            return self._resolver.type_of(function, bare)
        if outer.kind == CallKind.METHOD and outer.name in _PASSING:
            return self._type(function, outer.start, outer.name_start, before, depth - 1)
        return self._returned(function, outer, before, depth)

    def _outermost(self, function: Fn, start: int, end: int) -> Call | None:
        ending = [call for call in function.calls_by_end.get(end, ()) if call.start >= start]
        return min(ending, key=lambda call: call.start, default=None)

    def _returned(self, function: Fn, call: Call, before: int, depth: int) -> str:
        callees: Sequence[Fn]
        if call.kind == CallKind.METHOD:
            type_ = self._type(function, call.start, call.name_start, before, depth - 1)
            callees = self._methods(type_, call.name) or self._resolver.resolve(function, call)
        else:
            callees = self._resolver.resolve(function, call)
        types = {_inner(one, one.facts.return_type) for one in callees}
        if len(types) == 1:
            return types.pop()
        return ""

    def _type_of_name(self, function: Fn, name: str, before: int, depth: int) -> str:
        bound = function.lets_by_name.get(name, ())
        last = next((let for let in reversed(bound) if let.value_end <= before), None)
        if last is None:
            return self._resolver.types(function).get(name, "")
        annotation = function.text(last.pattern_end, last.value_start).strip("= \n")
        if annotation.startswith(":"):
            return _inner(function, annotation[1:])
        return self._type(function, last.value_start, last.value_end, last.start, depth - 1)


def _inner(function: Fn, type_: str) -> str:
    """Return the bare type of what a result, option or pointer holds."""
    held = _held(type_)
    return function.self_type if held == "Self" else held


@lru_cache(maxsize=16_384)
def _held(type_: str) -> str:
    type_ = type_.strip().removeprefix("->").strip()
    for _ in range(_DEPTH):
        bare = base_type(type_)
        inside = re.match(r"^&?(?:'\w+\s+)?(?:mut\s+)?[\w:]+<(.*)>$", type_, re.DOTALL)
        if inside is None or not (bare.endswith("Result") or bare in _WRAPPERS):
            break
        parts = [part for part in split_list(inside[1]) if not part.startswith("'")]
        type_ = parts[0] if parts else ""
    return "" if type_.startswith(("(", "[", "impl ")) else base_type(type_)

"""What of a crate others can name: the rest is called by the crate alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Scope, ScopeKind
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace, enclosing_modules

_OPEN = "pub"
_WORD = re.compile(r"\w+")

# The last names of a path, or of a list of paths.
_LAST = re.compile(r"(\w+)\s*(?=[,}]|$|\bas\b)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_HANDS_ON = re.compile(rb"\bpub\s+(?:use\s+|type\s+\w+[^=;]*=\s*)([^;]+);")
# Called from outside by another name or way.
_EXPORTED = re.compile(r"\b(?:no_mangle|export_name|pyfunction|pymethods|wasm_bindgen)\b")

Module = tuple[str, tuple[str, ...]]


class _HandedOn(NamedTuple):
    """The names in a `pub use`, those that it ends in, and whether it hands on all of a module."""

    words: frozenset[str]
    last: frozenset[str]
    has_glob: bool


class Exports:
    """Answers for one workspace: what nothing shows to be the crate's own, others may name."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def may_be_named(self, function: Fn) -> bool:
        """Say whether code outside its crate may name a function, or the type whose method it is."""
        unit, facts = function.unit, function.facts
        if unit.package is None or facts.macro or function.is_trait_default:
            return True
        if any(map(_EXPORTED.search, facts.attributes)) or not _NAME.fullmatch(function.self_type or "_"):
            return True
        if facts.outer >= 0 or unit.target_kind == "bin":
            return False
        if not function.trait and facts.visibility != _OPEN:
            return False
        if function.self_type and not self._may_name_type(unit, function.self_type):
            return False
        name = function.self_type or function.name
        return self._is_open(unit, function.module) or self._is_handed_on(unit, function.module, name)

    def _may_name_type(self, unit: Unit, name: str) -> bool:
        known = self._types.get((_folder(unit), name))
        return known is None or _OPEN in known

    @cached_property
    def _types(self) -> dict[tuple[str, str], set[str]]:
        """The visibilities of the types of each package, by their names."""
        found: dict[tuple[str, str], set[str]] = {}
        for unit in self._workspace.units.values():
            for item in unit.facts.items:
                if item.kind in ("struct", "enum"):
                    found.setdefault((_folder(unit), item.name), set()).add(item.visibility)
        return found

    def _is_open(self, unit: Unit, module: tuple[str, ...]) -> bool:
        """Say whether every module on the way is public; one that nothing declares is."""
        folder = _folder(unit)
        return all(self._modules.get((folder, module[:end]), True) for end in range(1, len(module) + 1))

    @cached_property
    def _modules(self) -> dict[Module, bool]:
        found: dict[Module, bool] = {}
        for unit in self._workspace.units.values():
            for scope in _modules_of(unit):
                key = _folder(unit), (*unit.module, *enclosing_modules(unit, scope), scope.name)
                found[key] = found.get(key, False) or scope.visibility == _OPEN
        return found

    def _is_handed_on(self, unit: Unit, module: tuple[str, ...], name: str) -> bool:
        """Say whether a public module hands a name on, or all of one of the modules that it stands in."""
        return any(
            name in words or not last.isdisjoint(module) or (has_glob and not words.isdisjoint(module))
            for words, last, has_glob in self._handed_on.get(_folder(unit), ())
        )

    @cached_property
    def _handed_on(self) -> dict[str, list[_HandedOn]]:
        """What public modules hand on, and those that others hand on with all that they hold."""
        found: dict[str, list[_HandedOn]] = {}
        closed: list[tuple[str, tuple[str, ...], str]] = []
        for unit in self._workspace.units.values():
            for module, argument in _public_uses(unit):
                if self._is_open(unit, module):
                    found.setdefault(_folder(unit), []).append(_handed_on(argument))
                else:
                    closed.append((_folder(unit), module, argument))
        for folder, module, argument in closed:
            if any(one.has_glob and not one.words.isdisjoint(module) for one in found.get(folder, ())):
                found[folder].append(_handed_on(argument))
        return found


def _handed_on(argument: str) -> _HandedOn:
    return _HandedOn(frozenset(_WORD.findall(argument)), frozenset(_LAST.findall(argument)), "*" in argument)


def _public_uses(unit: Unit) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is handed on in a file, with the module that does; also by an alias, or inside a macro."""
    known = set()
    for use in unit.facts.uses:
        known.add(use.end)
        if use.visibility == _OPEN:
            yield _module_at(unit, use.scope), use.argument
    for found in _HANDS_ON.finditer(unit.data):
        if found.end() not in known:
            yield unit.module, found[1].decode("utf-8", "replace")


def _folder(unit: Unit) -> str:
    return unit.package.folder if unit.package is not None else ""


def _modules_of(unit: Unit) -> Iterator[Scope]:
    return (scope for scope in unit.facts.scopes if scope.kind == ScopeKind.MODULE)


def _module_at(unit: Unit, index: int) -> tuple[str, ...]:
    if index < 0:
        return unit.module
    scope = unit.facts.scopes[index]
    own = (scope.name,) if scope.kind == ScopeKind.MODULE else ()
    return (*unit.module, *enclosing_modules(unit, scope), *own)

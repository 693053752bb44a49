"""The linked workspace: packages, module tree, functions and their names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from posixpath import dirname, normpath

from audit.scanner.extract.facts import Scope, ScopeKind
from audit.scanner.link.cargo import Package
from audit.scanner.link.cfg import cfgs_of
from audit.scanner.link.unit import Fn, Unit, base_type

_PATH_ATTRIBUTE = re.compile(r'#\[\s*path\s*=\s*"([^"]+)"')
_FIRST_NAME = re.compile(rb"[(\[{]\s*([A-Za-z_]\w*)\s*[,)\]}]")
_ROOT_NAMES = ("lib.rs", "main.rs", "mod.rs")


class Workspace:
    """All files of the tree, linked.

    What stands in the workspace `before` as it stands here is taken from there, which is used up by that.
    """

    def __init__(
        self, units: Iterable[Unit], packages: tuple[Package, ...], before: Workspace | None = None
    ) -> None:
        self.units = {unit.path: unit for unit in sorted(units, key=lambda unit: unit.path)}
        self.packages: tuple[Package, ...] = (
            packages if before is None else _as_before(packages, before.packages)
        )
        self._assign_packages()
        self._walk_module_trees()
        if before is not None:
            self._take_units(before.units)
        self.functions: list[Fn] = []
        self.by_name: dict[str, list[Fn]] = defaultdict(list)
        for unit in self.units.values():
            if unit.functions is None:
                unit.functions = [Fn(unit, facts, 0) for facts in unit.facts.functions]
            for function in unit.functions:
                function.index = len(self.functions)
                self.functions.append(function)
                self.by_name[function.name].append(function)
        self.expansions: dict[int, list[str]] = defaultdict(list)
        self._expand_macros()

    def _take_units(self, before: Mapping[str, Unit]) -> None:
        for path, unit in self.units.items():
            known = before.get(path)
            if known is not None and unit.stands_as(known):
                self.units[path] = known

    def _expand_macros(self) -> None:
        """Give the functions that macros define the names that their invocations splice in."""
        spliced: dict[str, list[Fn]] = defaultdict(list)
        for function in self.functions:
            if function.facts.has_spliced_name and function.facts.parameters:
                spliced[function.facts.macro].append(function)
        for unit in self.units.values() if spliced else ():
            for call in unit.facts.calls:
                if call.name not in spliced:
                    continue
                first = _FIRST_NAME.match(unit.data, call.arguments_start)
                if first is None:
                    continue
                name = first[1].decode()
                for function in spliced[call.name]:
                    self.expansions[function.index].append(name)
                    self.by_name[name].append(function)

    def names_given_to_macros(self, unit: Unit) -> list[tuple[str, str]]:
        """Return the macros that are invoked between the items of a file, each with the name it is given."""
        found = ((call.name, _FIRST_NAME.match(unit.data, call.arguments_start)) for call in unit.facts.calls)
        return [(macro, first[1].decode()) for macro, first in found if first is not None]

    def _assign_packages(self) -> None:
        by_folder = {package.folder: package for package in self.packages}
        for unit in self.units.values():
            folder = dirname(unit.path)
            while folder not in by_folder and folder:
                folder = dirname(folder)
            unit.package = by_folder.get(folder)
            if unit.package is not None:
                unit.target_kind = unit.package.target_kind(unit.path)

    def _walk_module_trees(self) -> None:
        for package in self.packages:
            for path in package.targets:
                self._walk(path, (), is_root=True)
        for unit in self.units.values():
            if not unit.is_in_module_tree:
                kind = unit.target_kind
                if kind in ("test", "example", "bench") and unit.package is not None:
                    self._walk(unit.path, (), is_root=True)
                elif not unit.module:
                    unit.module = _module_by_path(unit)

    def _walk(self, path: str, module: tuple[str, ...], *, is_root: bool) -> None:
        unit = self.units.get(path)
        if unit is None or unit.is_in_module_tree:
            return
        unit.module = module
        unit.is_in_module_tree = True
        name = path.rpartition("/")[2]
        folder = dirname(path)
        own = folder if is_root or name in _ROOT_NAMES else f"{folder}/{name[:-3]}"
        for scope in unit.facts.scopes:
            if scope.kind != ScopeKind.MODULE or scope.body_end:
                continue
            inline = enclosing_modules(unit, scope)
            for candidate in _candidates(scope, folder, own, inline):
                child = self.units.get(candidate)
                if child is not None and not child.is_in_module_tree:
                    child.module_cfgs = unit.cfgs + cfgs_of(scope.attributes)
                    for outer in _enclosing_scopes(unit, scope):
                        child.module_cfgs += cfgs_of(outer.attributes)
                    child.target_kind = unit.target_kind
                    self._walk(candidate, (*module, *inline, scope.name), is_root=False)
                    break

    @cached_property
    def struct_fields(self) -> Mapping[str, Mapping[str, str]]:
        """The base types of the fields of every struct, by the struct's bare name."""
        found: dict[str, dict[str, str]] = {}
        for unit in self.units.values():
            for name, fields in unit.struct_fields:
                found.setdefault(name, {}).update(fields)
        return found

    @cached_property
    def trait_methods(self) -> Mapping[str, list[Fn]]:
        """The functions of traits and trait implementations, by trait."""
        found: dict[str, list[Fn]] = defaultdict(list)
        for function in self.functions:
            if function.trait:
                found[function.trait].append(function)
        return found

    @cached_property
    def _reachable_packages(self) -> Mapping[str, frozenset[str]]:
        """The folders of the packages that each package can name: itself and what it depends on."""
        by_name = {package.name: package for package in self.packages}
        found: dict[str, frozenset[str]] = {}
        for package in self.packages:
            seen = {package.folder}
            pending = [package]
            while pending:
                one = pending.pop()
                for name in one.requirements | one.dependencies:
                    needed = by_name.get(name)
                    if needed is not None and needed.folder not in seen:
                        seen.add(needed.folder)
                        pending.append(needed)
            found[package.folder] = frozenset(seen)
        return found

    @cached_property
    def visible(self) -> tuple[object, ...]:
        """What decides which function can name which, besides the packages that these two are in."""
        crates = tuple((package.folder, package.crate_name) for package in self.packages)
        return crates, self._reachable_packages, self.trait_homes

    @property
    def traits(self) -> Collection[str]:
        """The bare names of the traits that are defined here."""
        return self.trait_homes.keys()

    @cached_property
    def trait_homes(self) -> Mapping[str, frozenset[str]]:
        """The folders of the packages that define each trait, by its bare name."""
        found: dict[str, set[str]] = defaultdict(set)
        for unit in self.units.values():
            for scope in unit.facts.scopes:
                if scope.kind == ScopeKind.TRAIT and unit.package is not None:
                    found[scope.name.split("<")[0]].add(unit.package.folder)
        return {trait: frozenset(folders) for trait, folders in found.items()}

    def can_name(self, caller: Fn, callee: Fn) -> bool:
        """Say whether a function's package can call another function: it depends on it, or on its trait."""
        here, there = caller.unit.package, callee.unit.package
        if here is there or here is None or there is None:
            return True
        reachable = self._reachable_packages[here.folder]
        return there.folder in reachable or not reachable.isdisjoint(self.trait_homes.get(callee.trait, ()))

    @cached_property
    def implementors(self) -> Mapping[str, frozenset[str]]:
        """The types that implement each trait, by bare names."""
        found: dict[str, set[str]] = defaultdict(set)
        for unit in self.units.values():
            for scope in unit.facts.scopes:
                if scope.kind == ScopeKind.IMPL and scope.trait:
                    found[base_type(scope.trait)].add(base_type(scope.name))
        return {trait: frozenset(types) for trait, types in found.items()}


def _as_before(packages: tuple[Package, ...], before: tuple[Package, ...]) -> tuple[Package, ...]:
    """Return the packages, those that have not changed as the objects that they were."""
    known = {package.folder: package for package in before}
    return tuple(
        known[package.folder] if known.get(package.folder) == package else package for package in packages
    )


def _candidates(scope: Scope, folder: str, own: str, inline: tuple[str, ...]) -> list[str]:
    for attribute in scope.attributes:
        explicit = _PATH_ATTRIBUTE.match(attribute)
        if explicit is not None:
            return [normpath("/".join(part for part in (folder, explicit[1]) if part))]
    base = "/".join(part for part in (own, *inline, scope.name) if part)
    return [f"{base}.rs", f"{base}/mod.rs"]


def _enclosing_scopes(unit: Unit, scope: Scope) -> list[Scope]:
    found = []
    index = scope.parent
    while index >= 0:
        outer = unit.facts.scopes[index]
        found.append(outer)
        index = outer.parent
    return found


def enclosing_modules(unit: Unit, scope: Scope) -> tuple[str, ...]:
    """Return the names of what a scope of a file stands in, outermost first."""
    return tuple(outer.name for outer in reversed(_enclosing_scopes(unit, scope)))


def _module_by_path(unit: Unit) -> tuple[str, ...]:
    inside = unit.path
    if unit.package is not None and unit.package.folder:
        inside = inside[len(unit.package.folder) + 1 :]
    parts = inside.removeprefix("src/").removesuffix(".rs").split("/")
    return tuple(part for part in parts if part not in ("mod", "lib", "main"))

"""What a call may call: by path and module, by receiver type, else by name and arity."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property, lru_cache

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.extract.items import split_list
from audit.scanner.link.given import Given, Lost, World
from audit.scanner.link.local_types import LocalTypes
from audit.scanner.link.named import Named
from audit.scanner.link.passed import Key, Path, passed_paths
from audit.scanner.link.recall import Recalled
from audit.scanner.link.standard import STANDARD_METHODS
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace

_GENERICS = re.compile(r"<[^<>]*>")
_MANY = 6
_MOST_USE_LEVELS = 64


class Resolver:
    """Resolves calls inside one workspace."""

    def __init__(
        self, workspace: Workspace, before: Resolver | None = None, recalled: Recalled | None = None
    ) -> None:
        """Take over from the resolver of the workspace before, or a memory, what would be found again."""
        self._workspace = workspace
        self._named: dict[str, Named] = {}
        self._given: Given = Given() if before is None else before._given
        if before is not None:
            self._given.keep(self._world(), self.uses, self.renamed)
        elif recalled is not None:
            self._given = recalled.given(self._world(), self.uses)
        else:
            self._given.world = self._world()
        self._locals = LocalTypes(workspace, self._given)

    def _world(self) -> World:
        """Return what resolutions depend on besides the function that calls."""
        workspace = self._workspace
        return World(
            functions=frozenset(workspace.functions),
            by_name=workspace.by_name,
            struct_fields=workspace.struct_fields,
            traits=frozenset(workspace.trait_methods),
            visible=workspace.visible,
            facades={crate: self.uses(root) for crate, root in self._roots.items()},
            passing=self._passing_spans(),
        )

    def _of_name(self, name: str) -> Named:
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = Named(name, self._workspace.by_name.get(name, ()))
        return found

    @property
    def lost(self) -> Lost | None:
        """What may resolve otherwise than in the workspace before; None where that may be anything."""
        return self._given.lost

    def resolve(self, function: Fn, call: Call) -> tuple[Fn, ...]:
        """Return the functions that a call may call; nothing when it can't be told."""
        is_passing = function.index in self._passing
        if call.name not in self._names and not is_passing:
            return ()
        given = self._given
        rows = given.answers.get(function)
        if rows is None:
            rows = given.rows_of(function)
        known = rows.get((call.start, call.end))
        if known is not None:
            return known
        called = self._resolve(function, call)
        if is_passing:
            for path in self.passed.get((function.index, call.start, call.end), ()):
                called = called + self._at_argument(function, path)
        found = self._nameable(function, called) if called else ()
        given.add(function, call, found)
        return found

    def _nameable(self, function: Fn, called: list[Fn]) -> tuple[Fn, ...]:
        """Return those of some functions that the package of another can name."""
        package = function.unit.package
        for one in called:
            if one.unit.package is not package:
                can_name = self._workspace.can_name
                return tuple([one for one in called if can_name(function, one)])
        return tuple(called)

    @cached_property
    def renamed(self) -> Mapping[str, set[str]]:
        """The names that imports give to others, each with those that it stands for."""
        found: dict[str, set[str]] = defaultdict(set)
        for unit in self._workspace.units.values():
            for name, path in self.uses(unit).items():
                if path[-1] != name:
                    found[name].add(path[-1])
        return found

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names that functions are called by: most calls are of none of them."""
        known = self._workspace.by_name
        renamed = (name for name, real in self.renamed.items() if not real.isdisjoint(known))
        return frozenset(known).union(renamed)

    @cached_property
    def _passing(self) -> frozenset[int]:
        return frozenset(index for index, _, _ in self.passed)

    def _passing_spans(self) -> Mapping[Fn, frozenset[tuple[int, int]]]:
        found: dict[Fn, set[tuple[int, int]]] = defaultdict(set)
        for index, start, end in self.passed:
            found[self._workspace.functions[index]].add((start, end))
        return {function: frozenset(spans) for function, spans in found.items()}

    @cached_property
    def passed(self) -> Mapping[Key, tuple[Path, ...]]:
        """The paths of functions that calls are given as arguments: they may call them."""
        return passed_paths(self._workspace)

    def _at_argument(self, function: Fn, path: Path) -> list[Fn]:
        owner = function.self_type if path[-2] == "Self" else path[-2]
        if owner[:1].isupper():
            return _live(function, self._of_name(path[-1]).of_type.get(owner, []))
        expanded = self.uses(function.unit).get(path[0], (path[0],))
        return _live(function, self._free_by_path(function.unit, (*expanded, *path[1:])))

    def _resolve(self, function: Fn, call: Call) -> list[Fn]:
        kind, name = call.kind, call.name
        if name not in self._workspace.by_name:
            alias = self.uses(function.unit).get(name) if kind == CallKind.PLAIN else None
            if alias is None or alias[-1] not in self._workspace.by_name:
                return []
        if kind == CallKind.METHOD:
            return self._resolve_method(function, call)
        if kind == CallKind.PATH:
            return self._resolve_path(function, call)
        if kind == CallKind.PLAIN:
            return self._resolve_plain(function, call)
        if kind == CallKind.MACRO:
            expanded = [one for one in self._workspace.by_name[name] if one.facts.macro == name]
            return expanded + self._named_in_arguments(function, call)
        return []

    def _named_in_arguments(self, function: Fn, call: Call) -> list[Fn]:
        """Return the functions whose paths a macro invocation is given: what it expands to calls them."""
        found: list[Fn] = []
        for argument in self.arguments(function, call):
            path = tuple(part.strip() for part in argument.split("::"))
            if len(path) > 1 and all(part.isidentifier() for part in path):
                expanded = self.uses(function.unit).get(path[0], (path[0],))
                found += _live(function, self._free_by_path(function.unit, (*expanded, *path[1:])))
            elif argument.isidentifier() and not function.facts.start <= call.start < function.facts.end:
                # An invocation at item level is given names, never values.
                found += [
                    one for one in self._of_name(argument).free if one.unit.package is function.unit.package
                ]
        return found

    def _resolve_plain(self, function: Fn, call: Call) -> list[Fn]:
        for parameter in function.facts.parameters:
            if parameter.name == call.name:
                return []
        free = self._of_name(call.name).free
        here = [one for one in free if one.unit is function.unit]
        if here:
            same_module = [one for one in here if one.module == function.module]
            return _live(function, same_module or here)
        path = self.uses(function.unit).get(call.name)
        if path is not None:
            return _live(function, self._free_by_path(function.unit, path))
        package = function.unit.package
        in_crate = [one for one in free if one.unit.package is package]
        return _live(function, in_crate if len(in_crate) <= _MANY else [])

    def _resolve_path(self, function: Fn, call: Call) -> list[Fn]:
        path = _parts(function.unit.data[call.start : call.name_start])
        if not path:
            return []
        last = path[-1]
        if last == "Self":
            last = function.self_type
        if last[:1].isupper():
            found = self._of_name(call.name).of_type.get(last)
            return _live(function, self._of_receiver(function, call, last, found)) if found else []
        expanded = self.uses(function.unit).get(path[0])
        full = (*expanded, *path[1:], call.name) if expanded is not None else (*path, call.name)
        return _live(function, self._free_by_path(function.unit, full))

    def _of_receiver(self, function: Fn, call: Call, trait: str, found: list[Fn]) -> list[Fn]:
        """Return the methods of a trait, called by its path, that the type of the first argument has."""
        for one in found:
            if one.trait == trait != one.self_type:
                break
        else:
            return found
        arguments = self.arguments(function, call)
        type_ = self.type_of(function, arguments[0]) if arguments else ""
        return [one for one in found if type_ and one.self_type == type_] or found

    def at_path(self, unit: Unit, path: tuple[str, ...]) -> tuple[Fn, ...]:
        """Return the free functions that a path, written in a file, may name."""
        expanded = self.uses(unit).get(path[0])
        full = path if expanded is None else (*expanded, *path[1:])
        if len(full) > 1:
            return tuple(self._free_by_path(unit, full))
        found = self._of_name(path[0]).free
        here = tuple(one for one in found if one.unit is unit)
        return here or tuple(one for one in found if one.unit.package is unit.package)

    def _free_by_path(self, unit: Unit, path: tuple[str, ...]) -> list[Fn]:
        name = path[-1]
        found = self._of_name(name).free
        path = self._through_facade(path)
        crates = self._crates
        if path[0] in crates:
            found = [one for one in found if one.unit.crate_name == path[0]]
        elif path[0] in ("crate", "super", "self"):
            found = [one for one in found if one.unit.package is unit.package]
        elif len(path) > 1 and path[0] in ("std", "core", "alloc"):
            return []
        modules = [
            part for part in path[:-1] if part not in ("crate", "super", "self") and part not in crates
        ]
        if modules:
            exact = [one for one in found if one.module[-1:] == (modules[-1],)]
            # A re-export: the module of the path is not the one that holds the function.
            reexported = [one for one in found if one.unit.crate_name in (path[0], modules[0])]
            # A path that starts at no crate of the workspace leads out of it, unless a module says otherwise.
            is_inside = path[0] in crates or path[0] in ("crate", "super", "self")
            found = exact or reexported or (found if is_inside else [])
        return found

    @cached_property
    def _crates(self) -> frozenset[str]:
        return frozenset(one.crate_name for one in self._workspace.packages)

    def _through_facade(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Follow a path through crates that offer others under a name of their own (`pub use core as c`)."""
        for _ in range(_MANY):
            root = self._roots.get(path[0]) if len(path) > 2 else None
            target = self.uses(root).get(path[1]) if root is not None else None
            if target is None or target[0] not in self._roots or target[0] == path[0]:
                break
            path = (*target, *path[2:])
        return path

    @cached_property
    def _roots(self) -> dict[str, Unit]:
        """The root files of the libraries, by crate."""
        return {
            unit.crate_name: unit
            for unit in self._workspace.units.values()
            if unit.target_kind == "lib" and not unit.module and unit.is_in_module_tree
        }

    def _resolve_method(self, function: Fn, call: Call) -> list[Fn]:
        named = self._of_name(call.name)
        if not named.methods:
            return []
        type_ = self._locals.of_receiver(function, call)
        if type_:
            exact = named.own.get(type_)
            if exact:
                return _live(function, exact)
            if type_ in self._workspace.trait_methods:
                overriding = [one for one in named.methods if one.trait == type_ and one.has_body]
                return _live(function, overriding if len(overriding) <= _MANY else [])
            if len(type_) > 1:
                return []
        if call.name in STANDARD_METHODS:
            return []
        taking = named.taking(len(self.arguments(function, call)))
        fitting = [one for one in taking if self._workspace.can_name(function, one)]
        return _live(function, fitting) if len({one.self_type for one in fitting}) <= _MANY else []

    def arguments(self, function: Fn, call: Call) -> list[str]:
        """Return the argument texts of a call."""
        return split_list(function.unit.text(call.arguments_start + 1, call.end - 1))

    def type_of(self, function: Fn, receiver: str) -> str:
        """Return the bare type name of a receiver where it can be told, else an empty text."""
        return self._locals.type_of(function, receiver)

    def types(self, function: Fn) -> dict[str, str]:
        """Return the bare types of a function's parameters and of locals whose types can be told."""
        return self._locals.types(function)

    def uses(self, unit: Unit) -> dict[str, tuple[str, ...]]:
        """Return what each imported name of a file stands for, as path."""
        return unit.told_once(_expand, _expanded)


def _expanded(unit: Unit) -> dict[str, tuple[str, ...]]:
    return {name: path for use in unit.facts.uses for name, path in _expand(use.argument, ())}


@lru_cache(maxsize=8192)
def _parts(written: bytes) -> tuple[str, ...]:
    """Return the parts of the path before a called name, without generics."""
    text = written.decode("utf-8", "replace")
    if "<" in text:
        text = _GENERICS.sub("", text)
    return tuple(part.split("<")[0].strip() for part in text.split("::") if part.strip())


def _live(function: Fn, candidates: list[Fn]) -> list[Fn]:
    """Of cfg twins keep those that are compiled where the caller is: that need no feature off."""
    if len(candidates) < 2:
        return candidates
    if function.is_product_code:
        product = [one for one in candidates if not one.is_test_code]
        candidates = product or candidates
    live = [one for one in candidates if not any(cfg.excludes("feature") for cfg in one.cfgs)]
    return live or candidates


def _expand(
    argument: str, prefix: tuple[str, ...], levels: int = _MOST_USE_LEVELS
) -> list[tuple[str, tuple[str, ...]]]:
    """Expand a use tree to (name, path) pairs; globs are left out, and what is nested absurdly deep."""
    argument = argument.strip()
    brace = argument.find("{")
    if brace >= 0:
        if not levels:
            return []
        head = tuple(part for part in argument[:brace].strip().strip(":").split("::") if part)
        inner = argument[brace + 1 : argument.rfind("}")]
        path = (*prefix, *head)
        return [pair for part in split_list(inner) for pair in _expand(part, path, levels - 1)]
    path_text, _, alias = argument.partition(" as ")
    path = (*prefix, *(part.strip() for part in path_text.split("::") if part.strip()))
    if not path or path[-1] == "*":
        return []
    if path[-1] == "self":
        path = path[:-1]
    return [(alias.strip() or path[-1], path)] if path else []

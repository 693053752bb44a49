"""Which functions put work on the device, by themselves or through what they call."""

from __future__ import annotations

import re
from functools import cached_property

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.graph import CallGraph, Reason
from audit.scanner.link.mentions import Mentions
from audit.scanner.link.standard import STANDARD_METHODS
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern

_CALLS_FRAGMENT = re.compile(r"\$\w+\s*\(")
_ALLOCATION = re.compile(r"^(?:alloc|free|len|device|ordinal|numel|shape|size|as_any)")


class Launches:
    """Functions by index, with the reason."""

    def __init__(self, graph: CallGraph, found: dict[int, Reason] | None = None) -> None:
        """Find them, unless it is known what another process found in the same workspace."""
        self._graph = graph
        self._pattern = any_pattern(graph.profile.launch.call_patterns)
        self._names = graph.launch_names
        self._modules = frozenset(graph.profile.launch.modules)
        words = graph.profile.launch
        self._backend_words = Mentions(words.backend_accessors + words.backend_traits)
        self.found: dict[int, Reason] = found or {}
        if found is None:
            self._find()

    def is_launch(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device by itself."""
        if self.is_launch_name(call.name):
            return call.kind != CallKind.MACRO or call.name == "launch"
        if self._is_through_launching_module(function, call):
            return True
        return call.kind == CallKind.METHOD and self.is_backend_operation(function, call)

    def _is_through_launching_module(self, function: Fn, call: Call) -> bool:
        if call.kind != CallKind.PATH or not self._modules:
            return False
        return not self._modules.isdisjoint(function.text(call.start, call.name_start).split("::"))

    def is_launch_name(self, name: str) -> bool:
        """Say whether a name launches work whatever it is called on."""
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = name in self._graph.profile.launches or bool(
                self._pattern.search(name)
            )
        return known

    def is_backend_operation(self, function: Fn, call: Call) -> bool:
        """Say whether a call is an operation of the device backend, no transfer and no allocation."""
        names = self._graph.profile
        if call.name in names.uploads or call.name in names.downloads or _ALLOCATION.match(call.name):
            return False
        return call.name not in STANDARD_METHODS and self.asks_backend(function, call)

    def asks_backend(self, function: Fn, call: Call) -> bool:
        """Say whether a method is called on the device backend, whatever it does."""
        names = self._graph.profile
        receiver = function.text(call.start, call.name_start).rstrip(". \n")
        if receiver.isidentifier():
            type_ = self._graph.resolver.types(function).get(receiver, "")
            if type_ in names.launch.backend_traits:
                return True
            value = self._graph.flow(function).value_of(receiver)
            return any(f"{accessor}(" in value for accessor in names.launch.backend_accessors) or (
                not value and "backend" in receiver and self._binds_backend(function, receiver)
            )
        return any(f"{accessor}(" in receiver for accessor in names.launch.backend_accessors)

    def _binds_backend(self, function: Fn, name: str) -> bool:
        """Say whether an if-let, match arm or let-else binds a name to the backend."""
        for region in function.facts.regions:
            subject = function.text(region.condition_start, region.condition_end)
            if any(f"{accessor}(" in subject for accessor in self._graph.profile.launch.backend_accessors):
                pattern = function.text(region.pattern_start, region.pattern_end)
                if re.search(rf"\b{name}\b", pattern or subject):
                    return True
        return False

    def _find(self) -> None:
        for function in self._graph.workspace.functions:
            has_backend = function.index in self._speaking
            if not has_backend and function.index not in self._calling and not self._modules:
                continue
            if self._graph.is_device_off(function) or function.name in self._graph.transfers:
                continue
            launch = self._own_launch(function, has_backend=has_backend)
            if launch is not None:
                self.found[function.index] = Reason(launch, None)
        self._graph.spread(self.found, self._passes_launch_on, list(self.found))
        given = self._macros_given_launches()
        self.found.update(given)
        self._graph.spread(self.found, self._passes_launch_on, list(given))

    def _macros_given_launches(self) -> dict[int, Reason]:
        """Return the bodies of macros that call what they are given, where that launches."""
        found: dict[int, Reason] = {}
        for function in self._graph.workspace.functions:
            if not function.facts.macro or function.index in self.found:
                continue
            if not _CALLS_FRAGMENT.search(function.text(function.facts.body_start, function.facts.body_end)):
                continue
            for caller, call in self._graph.calls_by_name.get(function.facts.macro, ()):
                launching = (
                    one
                    for one in self._graph.resolver.resolve(caller, call)
                    if one.index in self.found and one.facts.macro != function.facts.macro
                )
                callee = next(launching, None)
                if callee is not None:
                    found[function.index] = Reason(call, callee)
                    break
        return found

    def _own_launch(self, function: Fn, *, has_backend: bool) -> Call | None:
        launching = self._launching_names
        for call in function.facts.calls:
            if call.name in launching:
                if call.kind != CallKind.MACRO or call.name == "launch":
                    return call
            elif call.kind == CallKind.METHOD:
                if has_backend and self.is_backend_operation(function, call):
                    return call
            elif self._modules and self._is_through_launching_module(function, call):
                return call
        return None

    @cached_property
    def _calling(self) -> frozenset[int]:
        return self._graph.calling(self._launching_names)

    @cached_property
    def _launching_names(self) -> frozenset[str]:
        return frozenset(filter(self.is_launch_name, self._graph.calls_by_name))

    @cached_property
    def _speaking(self) -> frozenset[int]:
        """The functions that name the backend at all: most don't, and need no look at each call."""
        words = self._graph.profile.launch
        key = ("backend", words.backend_accessors, words.backend_traits)
        units = self._graph.workspace.units.values()
        return frozenset(one.index for unit in units for one in unit.told_once(key, self._speaking_functions))

    def _speaking_functions(self, unit: Unit) -> list[Fn]:
        traits = self._graph.profile.launch.backend_traits
        return [
            one
            for one in unit.functions or ()
            if one.self_type in traits or self._backend_words.within(unit, one.facts.start, one.facts.end)
        ]

    def _passes_launch_on(self, function: Fn, call: Call) -> bool:
        return function.name not in self._graph.transfers and not self._graph.is_device_off(function)

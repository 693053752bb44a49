"""Reach: what the tests that open a device run, by the call graph."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable
from functools import cached_property

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.cargo import Package
from audit.scanner.link.closure import Closure
from audit.scanner.link.expressions import Expressions
from audit.scanner.link.flow import Flow
from audit.scanner.link.made import MadeFunctions
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn

_IGNORED = re.compile(r"#\[\s*ignore\b")
_SHAPE = r"&?[\w.]*(?:shape|dims)(?:\(\))?"
_PATH = re.compile(r"\b(?:\w+::)+[a-z_]\w*\b(?!\s*(?:\(|::|<))")
_TYPE_NAME = re.compile(r"\b[A-Z]\w*")
_OTHER_SHAPE = re.compile(rf"{_SHAPE}\s*(!=|==)\s*{_SHAPE}")


class Reach:
    """Finds which functions the tests that open a device run.

    A test opens a device when it names a device constructor of the profile, or calls what does. From there
    calls are followed as far as they can be told: where only a method's name is known and several types have
    it, nothing is followed. A backward pass runs when a test asks for gradients and what it runs builds the
    node. A branch for operands of different shapes is not followed: a test can't be presumed to have such.
    """

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._words = summaries.profile.tests
        self._autograd = summaries.profile.autograd
        self.functions = summaries.workspace.functions
        self._expressions = Expressions(summaries.resolver, summaries.workspace)
        self.made = MadeFunctions(summaries)
        self._steps: dict[int, tuple[Fn, ...]] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._followed: set[int] = set()
        self._closure = Closure(
            lambda index: [one.index for one in self._next(self.functions[index])],
            lambda index: self._built(self.functions[index]),
        )

    @cached_property
    def device_tests(self) -> tuple[Fn, ...]:
        """The tests that open a device and that run without being asked for."""
        opening = self._opening
        return tuple(
            function
            for function in self.functions
            if function.index in opening
            and function.is_test
            and function.has_body
            and not self.is_dead(function)
            and not any(_IGNORED.match(attribute) for attribute in function.facts.attributes)
        )

    @cached_property
    def tested(self) -> dict[int, Fn]:
        """The functions that device tests run, by index, each with a test that runs it."""
        found: dict[int, Fn] = {}
        for test in self.device_tests:
            self._walk([test], test, found, known=found)
        for test in self.device_tests:
            if any(call.name in self._autograd.methods for call in test.facts.calls):
                self._walk_backward(test, found)
        return found

    @cached_property
    def tested_made(self) -> frozenset[str]:
        """The names of the functions made by macros that device tests run."""
        called = {
            name
            for index in self.tested
            for call in self.functions[index].facts.calls
            for name in self._named(self.functions[index], call)
        }
        return frozenset(self.made.closure(called))

    def settle(self) -> None:
        """Find out now what tests run, by the call graph alone."""
        tested = self.tested
        del tested

    def callees(self, function: Fn) -> tuple[Fn, ...]:
        """Return what a function calls, as far as it can be told."""
        return self._next(function)

    def passes_built(self, function: Fn) -> tuple[Fn, ...]:
        """Return the backward passes of the nodes that a function builds."""
        built = self._built(function)
        return tuple(one for one in self._backward_passes if one.self_type in built)

    def asks_gradients(self, function: Fn) -> bool:
        """Say whether a function asks for gradients by itself."""
        return any(call.name in self._autograd.methods for call in function.facts.calls)

    def is_ignored(self, function: Fn) -> bool:
        """Say whether a test runs only when it is asked for."""
        return any(_IGNORED.match(attribute) for attribute in function.facts.attributes)

    def opens_device(self, function: Fn) -> bool:
        """Say whether a function opens a device, by itself or through what it calls."""
        return function.index in self._opening

    def opens_in_tests(self, package: Package | None) -> bool:
        """Say whether a package's tests open a device by words of the profile, or the profile fits."""
        if not self._summaries.profile.is_generic:
            return True
        return package is not None and package.name in self._opening_packages

    @cached_property
    def _opening_packages(self) -> frozenset[str]:
        opening = (self.functions[index] for index in self._opening)
        return frozenset(
            one.unit.package.name for one in opening if one.is_test and one.unit.package is not None
        )

    def is_dead(self, function: Fn) -> bool:
        """Say whether a function needs a feature that its package does not declare: it is never compiled."""
        package = function.unit.package
        if package is None:
            return False
        flags = [flag for cfg in function.cfgs for flag in cfg.flags() if flag[0] == "feature"]
        declared = package.features
        return any(
            value is not None
            and value not in declared
            and any(cfg.requires("feature", frozenset((value,))) for cfg in function.cfgs)
            for _, value in flags
        )

    # -- who opens a device ------------------------------------------------------------------------------

    @cached_property
    def _opening(self) -> frozenset[int]:
        names = "|".join(map(re.escape, self._words.constructors)).encode()
        constructor = re.compile(rb"\b(?:" + names + rb")\b")
        words = self._summaries.graph.constructors
        found = {
            function.index
            for function in self.functions
            if words.within(function.unit, function.facts.body_start, function.facts.body_end)
            and self._names_constructor(function, constructor)
        }
        queue = deque(found)
        while queue:
            callee = self.functions[queue.popleft()]
            for caller, _ in self._summaries.callers(callee):
                if caller.index not in found:
                    found.add(caller.index)
                    queue.append(caller.index)
        return frozenset(found)

    def _names_constructor(self, function: Fn, constructor: re.Pattern[bytes]) -> bool:
        data, facts = function.unit.data, function.facts
        return constructor.search(data, facts.body_start, facts.body_end) is not None and any(
            constructor.search(data, call.start, call.arguments_start) is not None
            for call in facts.calls
            if call.kind in (CallKind.PATH, CallKind.PLAIN)
        )

    # -- what runs ---------------------------------------------------------------------------------------

    def _walk(
        self, start: Iterable[Fn], test: Fn, found: dict[int, Fn], known: Container[int] = ()
    ) -> list[Fn]:
        """Add what runs from here on, and return it all, but nothing that is known."""
        queue = deque(start)
        seen = {function.index for function in queue}
        walked = []
        while queue:
            function = queue.popleft()
            walked.append(function)
            found.setdefault(function.index, test)
            for callee in self._next(function):
                if callee.index not in seen and callee.index not in known:
                    seen.add(callee.index)
                    queue.append(callee)
        return walked

    def _walk_backward(self, test: Fn, found: dict[int, Fn]) -> None:
        """Add the backward passes of the nodes that a test's forward builds, and what these run."""
        built = self._closure.of(test.index)
        done: set[int] = set()
        while True:
            passes = [
                one for one in self._backward_passes if one.self_type in built and one.index not in done
            ]
            if not passes:
                break
            done.update(one.index for one in passes)
            # What an earlier test's pass runs is found already.
            self._walk([one for one in passes if one.index not in self._followed], test, found)
            self._followed.update(done)
            built = frozenset[str]().union(*(self._closure.of(one.index) for one in passes))

    @cached_property
    def _backward_passes(self) -> tuple[Fn, ...]:
        return tuple(
            function
            for function in self.functions
            if function.name in self._autograd.methods
            and function.trait in self._autograd.traits
            and function.has_body
        )

    @cached_property
    def _node_names(self) -> frozenset[str]:
        return frozenset(one.self_type for one in self._backward_passes)

    def _built(self, function: Fn) -> frozenset[str]:
        known = self._names.get(function.index)
        if known is None:
            text = function.text(function.facts.body_start, function.facts.body_end)
            known = self._names[function.index] = self._node_names.intersection(_TYPE_NAME.findall(text))
        return known

    def _next(self, function: Fn) -> tuple[Fn, ...]:
        known = self._steps.get(function.index)
        if known is None:
            found: dict[int, Fn] = {}
            compares_shapes = not function.is_test_code and _compares_shapes(function)
            for call in function.facts.calls:
                if not (compares_shapes and self._needs_other_shapes(function, call)):
                    for callee in self._callees(function, call):
                        found[callee.index] = callee
            for callee in self._expressions.operators(function):
                found[callee.index] = callee
            known = self._steps[function.index] = tuple(found.values())
        return known

    def _callees(self, function: Fn, call: Call) -> Iterable[Fn]:
        if call.kind == CallKind.METHOD:
            return self._expressions.methods(function, call)
        resolver = self._summaries.resolver
        if call.kind != CallKind.MACRO:
            return self._parts_made([call.name]) or resolver.resolve(function, call)
        paths = self._paths(function, call)
        found = [*self._parts_made([path[-1] for path in paths]), *resolver.resolve(function, call)]
        for path in paths:
            found += resolver.at_path(function.unit, path)
        return found

    def _parts_made(self, names: list[str]) -> list[Fn]:
        """Return the bodies of functions that macros make, and what these are given."""
        if self.made.by_name.keys().isdisjoint(names):
            return []
        made = self.made.closure(names).values()
        return [part for one in made for part in (one.template, *one.arguments)]

    def _named(self, function: Fn, call: Call) -> list[str]:
        """Return the bare names that a call may call: its own, or those that a macro gets by path."""
        if call.kind == CallKind.MACRO:
            return [path[-1] for path in self._paths(function, call)]
        return [call.name] if call.kind in (CallKind.PLAIN, CallKind.PATH) else []

    def _paths(self, function: Fn, call: Call) -> list[tuple[str, ...]]:
        """Return the paths that a macro gets: its body may call them."""
        return [
            tuple(path.split("::")) for path in _PATH.findall(function.text(call.arguments_start, call.end))
        ]

    def _needs_other_shapes(self, function: Fn, call: Call) -> bool:
        """Say whether a call stands in a branch for operands of different shapes."""
        if call.region == 0:
            return False
        flow = self._summaries.flow(function)
        return flow.kept_once(
            ("other shapes", call.start, call.region), lambda: _is_for_other_shapes(flow, call)
        )


def _compares_shapes(function: Fn) -> bool:
    """Say whether a function, by its text, may compare shapes at all: most do not."""
    data, start, end = function.unit.data, function.facts.body_start, function.facts.body_end
    has_shape = data.find(b"shape", start, end) >= 0 or data.find(b"dims", start, end) >= 0
    return has_shape and (data.find(b"!=", start, end) >= 0 or data.find(b"==", start, end) >= 0)


def _is_for_other_shapes(flow: Flow, call: Call) -> bool:
    for test in flow.tests_at(call.start, call.region):
        if test.pattern or not test.encloses:
            continue
        compared = _OTHER_SHAPE.fullmatch(flow.expand(test.subject).strip())
        if compared is not None and test.holds == (compared[1] == "!="):
            return True
    return False

"""What one workspace's resolver leaves to that of the next: answers that would be the same again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.unit import Fn, Unit

Span = tuple[int, int]
Rows = dict[Span, "tuple[Fn, ...] | None"]
Uses = Callable[[Unit], Mapping[str, tuple[str, ...]]]
Renamed = Mapping[str, Set[str]]


_NONE: frozenset[Span] = frozenset()


class World(NamedTuple):
    """What resolving a call depends on, besides the text of the function that calls.

    `visible` says which package can name which; `facades` what the root of each library offers under a name
    of its own; `passing` are the functions that hand functions on by their paths, with these calls.
    """

    functions: frozenset[Fn]
    by_name: Mapping[str, list[Fn]]
    struct_fields: Mapping[str, Mapping[str, str]]
    traits: frozenset[str]
    visible: tuple[object, ...]
    facades: Mapping[str, Mapping[str, tuple[str, ...]]]
    passing: Mapping[Fn, frozenset[Span]]


class Recalling(Protocol):
    """Knows answers from a scan before, those that hold in the world as it is."""

    def types(self, function: Fn) -> tuple[dict[str, str], set[str]] | None:
        """Return the types of a function's locals, and the structs that they were told from."""

    def rows(self, function: Fn) -> Rows:
        """Return what the calls of a function resolve to, by span, as far as it is known."""


class Lost(NamedTuple):
    """The calls whose answers may be others than in the world before: by name, and by function and span.

    Of a function with None all calls are meant. `successors` are the functions of edited files that a call
    may call as it might their predecessors: by these they are known.
    """

    names: frozenset[str]
    spans: Mapping[Fn, Set[Span] | None]
    successors: Mapping[Fn, Fn]

    def holds(self, function: Fn, call: Call) -> bool:
        """Say whether a call is among them."""
        if call.name in self.names:
            return True
        if function not in self.spans:
            return False
        spans = self.spans[function]
        return spans is None or (call.start, call.end) in spans


@dataclass(slots=True)
class Given:
    """Answers by the function that calls, and by the span of the call; None counts as no answer.

    `structs` names the structs whose fields were asked for to tell a function's types, also those that there
    are not: where one of them changes, nothing is kept of that function.
    """

    world: World | None = None
    answers: dict[Fn, Rows] = field(default_factory=dict)
    types: dict[Fn, dict[str, str]] = field(default_factory=dict)
    structs: dict[Fn, set[str]] = field(default_factory=dict)
    recalled: Recalling | None = None
    lost: Lost | None = None
    _added: list[tuple[Fn, Call]] = field(default_factory=list)
    _found: dict[Fn, list[Call]] = field(default_factory=dict)
    _calling: dict[str, set[Fn]] = field(default_factory=dict)
    _calling_macros: set[Fn] = field(default_factory=set)

    def rows_of(self, function: Fn) -> Rows:
        """Return the answers for the calls of a function, to look up and to `add` to."""
        known = self.answers.get(function)
        if known is None:
            known = self.answers[function] = self.recalled.rows(function) if self.recalled is not None else {}
        return known

    def add(self, function: Fn, call: Call, callees: tuple[Fn, ...]) -> None:
        """Keep what a call was found to resolve to."""
        rows = self.answers.get(function)
        if rows is None:
            rows = self.rows_of(function)
        rows[call.start, call.end] = callees
        # Most scans leave nothing to another one: only those that do have it put in order.
        self._added.append((function, call))

    def found(self) -> dict[Fn, list[Call]]:
        """Return the calls whose answers were found out in this process, by the function that calls."""
        for function, call in self._added:
            self._found.setdefault(function, []).append(call)
            self._calling.setdefault(call.name, set()).add(function)
            if call.kind == CallKind.MACRO:
                self._calling_macros.add(function)
        self._added.clear()
        return self._found

    def types_of(self, function: Fn) -> dict[str, str] | None:
        """Return the types of a function's locals, or None where they are not known."""
        known = self.types.get(function)
        if known is None and self.recalled is not None:
            recalled = self.recalled.types(function)
            if recalled is not None:
                known = self.types[function] = recalled[0]
                self.structs.setdefault(function, set()).update(recalled[1])
        return known

    def keep(self, world: World, uses: Uses, renamed: Renamed) -> None:
        """Drop what may be another answer in this world."""
        before = self.world
        self.world = world
        if before is None:
            return
        found = self.found()
        structs = _changed(before.struct_fields, world.struct_fields)
        retyped = [one for one, asked in self.structs.items() if not structs.isdisjoint(asked)]
        spans: dict[Fn, Set[Span] | None] = dict.fromkeys(retyped)
        for function in {*retyped, *(before.functions - world.functions)}:
            self._forget(function)
        if before.visible != world.visible or before.traits != world.traits:
            self.answers, self._found, self.lost = {}, {}, None
            self._calling, self._calling_macros = {}, set()
            return
        names = _changed(before.by_name, world.by_name)
        successors = _successors(before.functions - world.functions, world.functions - before.functions)
        same = {name for name in names if _is_succeeded(name, before, world, successors)}
        self._hand_on(_with_aliases(same, renamed), successors)
        called = _with_aliases(names - same, renamed)
        paths_hold = before.facades == world.facades
        asking: set[Fn] = self._calling_macros.union(before.passing, world.passing)
        asking.update(*(self._calling.get(name, ()) for name in called))
        for function in asking if paths_hold else list(found):
            passing = before.passing.get(function, _NONE) | world.passing.get(function, _NONE)
            dropped = self._drop(function, uses, called, passing, paths_hold=paths_hold)
            if dropped:
                spans.setdefault(function, dropped)
        self.lost = Lost(called, spans, successors)

    def _hand_on(self, names: frozenset[str], successors: Mapping[Fn, Fn]) -> None:
        """Put successors in the places of their predecessors, in the answers for calls by these names."""
        for function in set[Fn]().union(*(self._calling.get(name, ()) for name in names)):
            rows = self.answers.get(function, {})
            for span, callees in rows.items():
                if callees and not successors.keys().isdisjoint(callees):
                    rows[span] = tuple(successors.get(one, one) for one in callees)

    def _drop(
        self, function: Fn, uses: Uses, names: frozenset[str], passing: Set[Span], *, paths_hold: bool
    ) -> set[Span]:
        """Drop the answers for a function's calls that may be others, and return the spans of these calls."""
        dropped = {*passing}
        calls = self._found.get(function)
        if calls is None:
            return dropped
        known, rows = uses(function.unit), self.answers[function]
        kept = []
        for call in calls:
            span = call.start, call.end
            if span not in passing and holds(call, known, names, paths_hold=paths_hold):
                kept.append(call)
            else:
                dropped.add(span)
                rows.pop(span, None)
        self._found[function] = kept
        return dropped

    def _forget(self, function: Fn) -> None:
        """Forget what is known of a function."""
        self.types.pop(function, None)
        self.structs.pop(function, None)
        self.answers.pop(function, None)
        self._calling_macros.discard(function)
        for call in self._found.pop(function, ()):
            self._calling[call.name].discard(function)


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> frozenset[str]:
    changed = {name for name, value in after.items() if before.get(name) != value}
    return frozenset(changed).union(name for name in before if name not in after)


def _with_aliases(names: Set[str], renamed: Renamed) -> frozenset[str]:
    """Return names and all others that imports give to what they name."""
    return frozenset(names).union(alias for alias, real in renamed.items() if not real.isdisjoint(names))


def _is_succeeded(name: str, before: World, after: World, successors: Mapping[Fn, Fn]) -> bool:
    """Say whether a name stands for what it stood for, or for successors of that."""
    then, now = before.by_name.get(name), after.by_name.get(name)
    return then is not None and now is not None and [successors.get(one, one) for one in then] == now


def _successors(gone: Set[Fn], come: Set[Fn]) -> dict[Fn, Fn]:
    """Return which function of an edited file stands for which, as far as calls may tell them apart."""
    found: dict[Fn, Fn] = {}
    now = _by_place(come)
    for place, then in _by_place(gone).items():
        others = now.get(place, ())
        if len(others) == len(then) and all(map(_are_alike, then, others)):
            found.update(zip(then, others, strict=True))
    return found


def _by_place(functions: Set[Fn]) -> dict[tuple[str, str], list[Fn]]:
    """Return functions by file and name, in the order of the file."""
    found: dict[tuple[str, str], list[Fn]] = {}
    for function in sorted(functions, key=lambda one: (one.facts.start, one.facts.name_start)):
        found.setdefault((function.unit.path, function.name), []).append(function)
    return found


def _are_alike(one: Fn, other: Fn) -> bool:
    return _stands_around(one.unit) == _stands_around(other.unit) and resolved_by(one) == resolved_by(other)


def _stands_around(unit: Unit) -> tuple[object, ...]:
    """Return all of a file's place that tells whether calls may call its functions."""
    return unit.package, unit.module, unit.module_cfgs, unit.is_in_module_tree, unit.target_kind


def resolved_by(function: Fn) -> tuple[object, ...]:
    """Return all of a function that tells whether a call may call it: its body is no part of that."""
    facts = function.facts
    return (
        function.owner is None,
        function.self_type,
        function.trait,
        function.module,
        function.cfgs,
        function.has_body,
        function.is_test_code,
        function.is_product_code,
        facts.macro,
        facts.has_spliced_name,
        tuple(parameter.name == "self" for parameter in facts.parameters),
    )


def holds(
    call: Call, uses: Mapping[str, tuple[str, ...]], names: frozenset[str], *, paths_hold: bool
) -> bool:
    """Say whether none of the names that were looked up for a call has changed.

    What a macro is given may name anything: that is looked up again.
    """
    if call.name in names or call.kind == CallKind.MACRO:
        return False
    if call.kind == CallKind.METHOD:
        return True
    alias = uses.get(call.name)
    return paths_hold and (alias is None or alias[-1] not in names)

"""What one workspace's resolver leaves to that of the next: answers that would be the same again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.unit import Fn, Unit

Answer = tuple[Call, tuple[Fn, ...]]
Uses = Callable[[Unit], Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class World:
    """What resolving a call depends on, besides the text of the function that calls.

    `visible` says which package can name which; `facades` what the root of each library offers under a name
    of its own; `passing` are the functions that hand functions on by their paths.
    """

    functions: frozenset[Fn]
    by_name: Mapping[str, list[Fn]]
    struct_fields: Mapping[str, Mapping[str, str]]
    traits: frozenset[str]
    visible: tuple[object, ...]
    facades: Mapping[str, Mapping[str, tuple[str, ...]]]
    passing: frozenset[Fn]


class Recalling(Protocol):
    """Knows answers from a scan before, those that hold in the world as it is."""

    def types(self, function: Fn) -> tuple[dict[str, str], set[str]] | None:
        """Return the types of a function's locals, and the structs that they were told from."""

    def answer(self, function: Fn, span: tuple[int, int]) -> tuple[Fn, ...] | None:
        """Return what the call of a span resolves to, or None where it is not known."""


@dataclass(slots=True)
class Given:
    """Answers by the function that calls, and by the span of the call.

    `structs` names the structs whose fields were asked for to tell a function's types, also those that there
    are not: where one of them changes, nothing is kept of that function.
    """

    world: World | None = None
    answers: dict[Fn, dict[tuple[int, int], Answer]] = field(default_factory=dict)
    types: dict[Fn, dict[str, str]] = field(default_factory=dict)
    structs: dict[Fn, set[str]] = field(default_factory=dict)
    recalled: Recalling | None = None

    def answer_of(self, function: Fn, call: Call) -> tuple[Fn, ...] | None:
        """Return what a call resolves to, or None where it is not known."""
        known = self.answers.get(function)
        if known is None:
            known = self.answers[function] = {}
        span = call.start, call.end
        answer = known.get(span)
        if answer is not None:
            return answer[1]
        return self.recalled.answer(function, span) if self.recalled is not None else None

    def types_of(self, function: Fn) -> dict[str, str] | None:
        """Return the types of a function's locals, or None where they are not known."""
        known = self.types.get(function)
        if known is None and self.recalled is not None:
            recalled = self.recalled.types(function)
            if recalled is not None:
                known = self.types[function] = recalled[0]
                self.structs.setdefault(function, set()).update(recalled[1])
        return known

    def keep(self, world: World, uses: Uses) -> None:
        """Drop what may be another answer in this world."""
        before = self.world
        self.world = world
        if before is None:
            return
        changed_structs = _changed(before.struct_fields, world.struct_fields)
        living = {
            function
            for function in self.types.keys() | self.answers.keys()
            if function in world.functions and changed_structs.isdisjoint(self.structs.get(function, ()))
        }
        self.types = {one: types for one, types in self.types.items() if one in living}
        self.structs = {one: structs for one, structs in self.structs.items() if one in living}
        if before.visible != world.visible or before.traits != world.traits:
            self.answers = {}
            return
        paths_hold = before.facades == world.facades
        names = _changed(before.by_name, world.by_name)
        passing = before.passing | world.passing
        kept: dict[Fn, dict[tuple[int, int], Answer]] = {}
        for function, answers in self.answers.items():
            if function in living and function not in passing:
                known = uses(function.unit)
                kept[function] = {
                    span: answer
                    for span, answer in answers.items()
                    if holds(answer[0], known, names, paths_hold=paths_hold)
                }
        self.answers = kept


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> frozenset[str]:
    changed = {name for name, value in after.items() if before.get(name) != value}
    return frozenset(changed).union(name for name in before if name not in after)


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

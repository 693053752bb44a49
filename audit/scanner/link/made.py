"""Functions that macros make: the names stand at the invocation, the body in the definition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.extract.items import split_list
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn, Unit

_FRAGMENT = re.compile(r"\$(\w+)\s*:\s*\w+")
_PATH = re.compile(r"^(?:\w+::)*[a-z_]\w*$")


class MadeFunction(NamedTuple):
    """A function that an invocation at item level makes.

    `template` is the function in the macro's definition; `arguments` the functions that the invocation hands
    to it by path, `handed` their bare names, those of functions that macros make included.
    """

    name: str
    unit: Unit
    call: Call
    template: Fn
    arguments: tuple[Fn, ...]
    handed: tuple[str, ...]

    @property
    def symbol(self) -> str:
        """The fully qualified name."""
        module = (self.unit.crate_name, *self.unit.module, self.name)
        return "::".join(part for part in module if part)


class MadeFunctions:
    """Finds the functions of a workspace that macros make in a build with the GPU feature."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries

    @cached_property
    def all(self) -> tuple[MadeFunction, ...]:
        """The functions that macros make, in source order."""
        templates: dict[str, list[Fn]] = {}
        for function in self._summaries.workspace.functions:
            if _is_template(function) and not self._summaries.is_device_off(function):
                templates.setdefault(function.facts.macro, []).append(function)
        return tuple(
            made
            for unit in self._summaries.workspace.units.values()
            for call in unit.facts.calls
            if call.kind == CallKind.MACRO
            for template in templates.get(call.name, ())
            if (made := self._made(unit, call, template)) is not None
        )

    @cached_property
    def by_name(self) -> dict[str, MadeFunction]:
        """The functions that macros make, by the name they get."""
        return {made.name: made for made in self.all}

    def closure(self, names: Iterable[str]) -> dict[str, MadeFunction]:
        """Return the made functions of these names, and those that they hand on."""
        found: dict[str, MadeFunction] = {}
        pending = list(names)
        while pending:
            name = pending.pop()
            made = self.by_name.get(name)
            if made is not None and name not in found:
                found[name] = made
                pending += made.handed
        return found

    def _made(self, unit: Unit, call: Call, template: Fn) -> MadeFunction | None:
        position = _position(template)
        arguments = split_list(unit.text(call.arguments_start + 1, call.end).rstrip().rstrip(";)}]"))
        if position >= len(arguments) or not arguments[position].isidentifier():
            return None
        paths = [
            tuple(argument.split("::"))
            for index, argument in enumerate(arguments)
            if index != position and _PATH.match(argument)
        ]
        handed = [function for path in paths for function in self._summaries.resolver.at_path(unit, path)]
        names = tuple(path[-1] for path in paths)
        return MadeFunction(arguments[position], unit, call, template, tuple(handed), names)


def _is_template(function: Fn) -> bool:
    return function.facts.has_spliced_name and function.has_body and function.facts.name != function.name


def _position(template: Fn) -> int:
    """Return which fragment of the macro's pattern is the function's name."""
    for macro in template.unit.facts.macros:
        if macro.start <= template.facts.start < macro.end:
            head = template.unit.text(macro.start, template.facts.start)
            names = _FRAGMENT.findall(head[: head.rfind("=>")])
            if template.facts.name in names:
                # Of a macro with several patterns the last one before the function counts.
                return len(names) - 1 - names[::-1].index(template.facts.name)
    return 0

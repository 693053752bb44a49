"""Finding the item of an earlier result in the workspace as it is now."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from audit.scanner.judge import Judgement
from audit.scanner.link.unit import Fn
from audit.scanner.report import EarlierResult


class Items:
    """Functions by what may still be known of them: symbol, name and type, file."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement

    def of(self, earlier: EarlierResult) -> tuple[Fn, ...]:
        """Return the functions that an earlier result stood in; nothing when they are gone.

        A function keeps its symbol, or its name and type in the same crate (its file moved), or its name in
        the same file. Where several would do and none is told apart, none is taken.
        """
        found = self._by_symbol.get(earlier.symbol, [])
        if found:
            return self._compiled([one for one in found if one.unit.path == earlier.path] or found)
        crate, _, rest = earlier.symbol.partition("::")
        *_, owner, name = "", *rest.split("::")
        for candidates in (
            [one for one in self._by_name.get(name, []) if one.unit.crate_name == crate],
            [one for one in self._by_name.get(name, []) if one.unit.path == earlier.path],
        ):
            alike = [one for one in candidates if one.self_type in (owner, "")]
            if len({one.symbol for one in alike}) == 1:
                return self._compiled(alike)
        return ()

    def _compiled(self, functions: list[Fn]) -> tuple[Fn, ...]:
        """Return those that a GPU build compiles, if there are any: the others are their stand-ins."""
        is_off = self._judgement.summaries.is_device_off
        return tuple([one for one in functions if not is_off(one)] or functions)

    @cached_property
    def _by_symbol(self) -> dict[str, list[Fn]]:
        found: dict[str, list[Fn]] = defaultdict(list)
        for function in self._judgement.workspace.functions:
            if function.has_body:
                found[function.symbol].append(function)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Fn]]:
        found: dict[str, list[Fn]] = defaultdict(list)
        for function in self._judgement.workspace.functions:
            if function.has_body:
                found[function.name].append(function)
        return found

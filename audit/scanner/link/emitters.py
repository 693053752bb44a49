"""Functions that write the source of a kernel: what they leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.scanner.extract.facts import Region, RegionKind
from audit.scanner.link.unit import Fn


def dropped_statements(function: Fn) -> Iterator[tuple[int, int]]:
    """Yield the branches of a generator that drop what they get, a part of it, or all unless a test holds."""
    if not any(call.name in ("push_str", "write", "writeln") for call in function.facts.calls):
        return
    for index, region in enumerate(function.facts.regions):
        if region.kind == RegionKind.ELSE and _only_passes_on(function, region, frozenset({"first", "get"})):
            yield region.start, region.end
        if region.kind != RegionKind.ARM:
            continue
        pattern = function.text(region.pattern_start, region.pattern_end).strip()
        text = function.text(region.start, region.end)
        is_empty = pattern == "_" and re.fullmatch(r"\{\s*\}|\(\)", text) is not None
        is_unwrapped = ".." in pattern and _only_passes_on(function, region, frozenset())
        if is_empty or is_unwrapped or _is_one_sided(function, index):
            yield region.pattern_start, region.end


def _only_passes_on(function: Fn, region: Region, more: frozenset[str]) -> bool:
    """Say whether all that a branch does is to generate one part of what it was given."""
    names = [call.name for call in function.facts.calls if region.start <= call.start < region.end]
    return function.name in names and set(names) <= more | {function.name} and names.count(function.name) == 1


def _is_one_sided(function: Fn, arm: int) -> bool:
    """Say whether an arm is nothing but an `if` without an `else`."""
    regions = function.facts.regions
    inside = [one for one in regions if one.parent == arm and one is not regions[0]]
    if len(inside) != 1 or inside[0].kind != RegionKind.THEN:
        return False
    whole = function.text(regions[arm].start, regions[arm].end).strip("{} \n;")
    return whole == function.text(inside[0].group_start, inside[0].group_end).strip("{} \n;")

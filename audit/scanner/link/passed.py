"""Functions that are handed to a call by their path: `map(Self::f)`, `dispatch(kernels::run_add, x)`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace

Key = tuple[int, int, int]
Path = tuple[str, ...]

_END_OF_PATH = re.compile(rb"::([a-z_]\w*)\s*[,)]")
_START_OF_PATH = re.compile(rb"[(,]\s*((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)$")
_LONGEST = 120


def passed_paths(workspace: Workspace) -> Mapping[Key, tuple[Path, ...]]:
    """Return the paths of functions among the arguments of each call, by function, start and end.

    Macros are left out: what they are given is looked at where they are expanded.
    """
    found: dict[Key, list[Path]] = defaultdict(list)
    for unit in workspace.units.values():
        for function, call, path in unit.told_once(_paths_in, _paths_in):
            if path[-1] in workspace.by_name:
                found[function.index, call.start, call.end].append(path)
    return {key: tuple(paths) for key, paths in found.items()}


def _paths_in(unit: Unit) -> list[tuple[Fn, Call, Path]]:
    """Return the paths among the arguments of a file's calls, whatever they name."""
    found = []
    functions = sorted((one for one in unit.functions or () if one.has_body), key=lambda one: one.facts.start)
    starts = [one.facts.start for one in functions]
    for match in _END_OF_PATH.finditer(unit.data):
        index = bisect_right(starts, match.start()) - 1
        if index < 0:
            continue
        head = _START_OF_PATH.search(unit.data, max(0, match.start() - _LONGEST), match.start())
        call = _innermost(functions[index], match.start()) if head is not None else None
        if head is not None and call is not None and call.kind != CallKind.MACRO:
            path = (*head[1].decode().split("::"), match[1].decode())
            found.append((functions[index], call, path))
    return found


def _innermost(function: Fn, offset: int) -> Call | None:
    around = [call for call in function.facts.calls if call.arguments_start < offset < call.end]
    return max(around, key=lambda call: call.arguments_start, default=None)

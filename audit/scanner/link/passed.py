"""Functions that are handed to a call by their path: `map(Self::f)`, `dispatch(kernels::run_add, x)`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.unit import Fn
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
    for functions in _functions_by_file(workspace).values():
        starts = [one.facts.start for one in functions]
        data = functions[0].unit.data
        for match in _END_OF_PATH.finditer(data):
            name = match[1].decode()
            index = bisect_right(starts, match.start()) - 1
            if name not in workspace.by_name or index < 0:
                continue
            head = _START_OF_PATH.search(data, max(0, match.start() - _LONGEST), match.start())
            function = functions[index]
            call = _innermost(function, match.start()) if head is not None else None
            if head is not None and call is not None and call.kind != CallKind.MACRO:
                path = (*head[1].decode().split("::"), name)
                found[function.index, call.start, call.end].append(path)
    return {key: tuple(paths) for key, paths in found.items()}


def _functions_by_file(workspace: Workspace) -> dict[str, list[Fn]]:
    found: dict[str, list[Fn]] = defaultdict(list)
    for function in workspace.functions:
        if function.has_body:
            found[function.unit.path].append(function)
    for functions in found.values():
        functions.sort(key=lambda one: one.facts.start)
    return found


def _innermost(function: Fn, offset: int) -> Call | None:
    around = [call for call in function.facts.calls if call.arguments_start < offset < call.end]
    return max(around, key=lambda call: call.arguments_start, default=None)

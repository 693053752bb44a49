"""Functions that load tensors to the host: given neither a tensor nor a device, they name the host alone."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import CallKind
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_DEVICE = re.compile(r"Device\b")
# How far the functions that they call are followed.
_DEPTH = 2


class Loads:
    """Answers for one call graph."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        profile = graph.profile
        self._host = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in profile.device.host_variants))
        self._device = any_pattern(
            tuple(
                rf"\b{re.escape(name)}\b"
                for name in (*profile.device.variants, *profile.tests.constructors, *profile.uploads)
            )
        )
        self._known: dict[int, bool] = {}

    def are_on_host(self, function: Fn) -> bool:
        """Say whether a function yields tensors that it, or a function of its kind, puts on the host."""
        known = self._known.get(function.index)
        if known is None:
            known = self._known[function.index] = self._loads(function, _DEPTH) is True
        return known

    def _loads(self, function: Fn, depth: int) -> bool | None:
        """Say it, None where a function yields no tensor and so tells nothing."""
        operands, facts = self._graph.operands, function.facts
        if not operands.names_device_type(facts.return_type):
            return None
        body = function.text(facts.body_start, facts.body_end)
        if (
            function.self_type
            or operands.holds_tensor(function)
            or any(_DEVICE.search(one.type) for one in facts.parameters)
            or self._device.search(body)
        ):
            return False
        if self._host.search(body):
            return True
        if not depth:
            return False
        told = [
            self._loads(callee, depth - 1)
            for call in facts.calls
            if call.kind in (CallKind.PLAIN, CallKind.PATH)
            for callee in self._graph.resolver.resolve(function, call)
            if callee is not function
        ]
        known = [one for one in told if one is not None]
        return bool(known) and all(known)

"""Copies of device data that go through the host, hidden behind clones of shared storage."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.unit import Fn

_SOLE_OWNER = re.compile(r"\btry_unwrap\s*\(|\bget_mut\s*\(|\binto_inner\s*\(")


class Copies:
    """Functions that hand out a copy made through the host.

    `found` maps them to whether they do so only while the storage is shared: a caller that has cloned the
    value before shares it.
    """

    def __init__(self, graph: CallGraph, round_trips: Mapping[int, Fn]) -> None:
        self._graph = graph
        storage = graph.profile.device.storage_types
        self._storage = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in storage) or r"(?!)")
        self.found: dict[int, bool] = dict.fromkeys(round_trips, False)
        self.sites: list[tuple[Fn, Call, Fn]] = []
        self._spread()

    def _spread(self) -> None:
        """Follow the callers: those that hand out storage copy too, the others are where it happens."""
        queue = deque(self.found)
        while queue:
            callee = self._graph.workspace.functions[queue.popleft()]
            for function, call in self._graph.callers(callee):
                if not self._graph.is_examined(function):
                    continue
                if not self._hands_out_storage(function):
                    if not self.found[callee.index] or self._is_shared(function, call):
                        self.sites.append((function, call, callee))
                elif function.index not in self.found:
                    self.found[function.index] = self.found[callee.index] or self._only_when_shared(
                        function, call
                    )
                    queue.append(function.index)

    def _hands_out_storage(self, function: Fn) -> bool:
        return function.self_type in self._graph.profile.device.storage_types or bool(
            self._storage.search(function.facts.return_type)
        )

    def _only_when_shared(self, function: Fn, call: Call) -> bool:
        for index in function.ancestors(call.region):
            region = function.facts.regions[index]
            subject = function.text(region.condition_start, region.condition_end)
            if region.kind in (RegionKind.ARM, RegionKind.THEN, RegionKind.ELSE) and _SOLE_OWNER.search(
                subject
            ):
                return True
        return False

    def _is_shared(self, function: Fn, call: Call) -> bool:
        """Say whether the receiver of a call has been cloned before, so that others own its data too."""
        if call.kind != CallKind.METHOD:
            return False
        receiver = function.text(call.start, call.name_start).rstrip(". \n")
        if receiver.endswith(".clone()"):
            return True
        if not receiver.isidentifier():
            return False
        if self._graph.flow(function).value_before(receiver, call.start).endswith(".clone()"):
            return True
        before = function.text(function.facts.body_start, call.start)
        clone = rf"(?<![\w.]){receiver}\.clone\(\)|\bclone\(\s*&{receiver}\b"
        return re.search(clone, before) is not None


def round_trips(graph: CallGraph, reading: Iterator[Fn]) -> dict[int, Fn]:
    """Return the backend operations that download a buffer and upload it again as another buffer.

    Where one backend copies on the device, those who ask a backend for a copy need not answer for another.
    """
    traits = graph.profile.launch.backend_traits
    uploads = graph.profile.uploads
    found = {
        function.index: function
        for function in reading
        if function.trait in traits
        and graph.operands.names_buffer_type(function.facts.return_type)
        and any(call.name in uploads for call in function.facts.calls)
    }
    on_device = {
        (one.trait, one.name)
        for trait in traits
        for one in graph.workspace.trait_methods.get(trait, ())
        if one.index not in found and not one.is_trait_default and one.has_body and graph.is_examined(one)
    }
    return {index: one for index, one in found.items() if (one.trait, one.name) not in on_device}

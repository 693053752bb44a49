"""What a function of a workspace calls, on one side of the GPU crates' border."""

from __future__ import annotations

from functools import cached_property

from audit.parity.operations import Layout
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn


class Reach:
    """Follows calls, backend methods and what only moves or lays out data left out."""

    def __init__(self, summaries: Summaries, layout: Layout) -> None:
        self._summaries = summaries
        self._layout = layout
        self._callees: dict[int, tuple[Fn, ...]] = {}

    def of(self, function: Fn, depth: int, *, in_gpu: bool) -> list[Fn]:
        """Return a function and those it calls, inside or outside the GPU crates, to a depth."""
        found = {function.index: function}
        ring = [function]
        for _ in range(depth):
            ring = [
                callee
                for one in ring
                for callee in self.callees(one)
                if callee.index not in found and self.is_in_gpu(callee) == in_gpu
            ]
            found |= {callee.index: callee for callee in ring}
        return list(found.values())

    def callees(self, function: Fn) -> tuple[Fn, ...]:
        """Return the product code that a function calls."""
        known = self._callees.get(function.index)
        if known is None:
            resolved = {
                callee.index: callee
                for call in function.facts.calls
                for callee in self._summaries.resolver.resolve(function, call)
                if callee.is_product_code
                and callee.trait != self._layout.backend_trait
                and callee.name not in self._auxiliary
            }
            known = self._callees[function.index] = tuple(resolved.values())
        return known

    def is_in_gpu(self, function: Fn) -> bool:
        """Say whether a function stands in a GPU crate."""
        package = function.unit.package
        return package is not None and package.name in self._layout.gpu_crates

    @cached_property
    def _auxiliary(self) -> frozenset[str]:
        """Moving data and laying it out anew is not what an operation computes."""
        profile = self._summaries.profile
        return profile.downloads | profile.uploads | self._layout.preparations

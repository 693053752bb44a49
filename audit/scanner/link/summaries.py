"""What functions do, directly and through what they call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from audit.scanner.extract.facts import Call
from audit.scanner.link.flow import Flow
from audit.scanner.link.gates import Gate, Gates
from audit.scanner.link.graph import CallGraph, Reason
from audit.scanner.link.launches import Launches
from audit.scanner.link.pardons import Pardons
from audit.scanner.link.places import Place
from audit.scanner.link.reads import Read, Reads
from audit.scanner.link.rejections import Rejections
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile

__all__ = ["Gate", "Read", "Reason", "Summaries"]


class Summaries:
    """Effects of all functions of a workspace under one profile: fixpoints over the call graph.

    Functions are known by their index. An effect is worked out when it is first asked for.
    """

    def __init__(
        self, workspace: Workspace, resolver: Resolver, profile: Profile, before: Summaries | None = None
    ) -> None:
        self.workspace = workspace
        self.resolver = resolver
        self.profile = profile
        self.graph: CallGraph = CallGraph(
            workspace, resolver, profile, before.graph if before is not None else None
        )
        self.tests = self.graph.tests
        self.operands = self.graph.operands

    def take(
        self,
        *,
        launching: dict[int, Reason] | None = None,
        gates: dict[int, Gate] | None = None,
        rejecting: dict[int, Reason] | None = None,
        reads: dict[int, tuple[Read, ...]] | None = None,
    ) -> None:
        """Take effects that another process has worked out for the same workspace.

        Each builds on those before it, which must be there already, or be taken with it.
        """
        if launching is not None:
            self._launches = Launches(self.graph, launching)
        if gates is not None:
            self._gates = Gates(self.graph, gates)
        if rejecting is not None:
            self._rejections = Rejections(self.graph, self._launches, rejecting)
        if reads is not None:
            self._reads = Reads(self.graph, self._launches, self._pardons, reads)

    @cached_property
    def _launches(self) -> Launches:
        return Launches(self.graph)

    @cached_property
    def _gates(self) -> Gates:
        return Gates(self.graph)

    @cached_property
    def _rejections(self) -> Rejections:
        return Rejections(self.graph, self._launches)

    @cached_property
    def _pardons(self) -> Pardons:
        return Pardons(self.graph, self._launches, self._gates, self._rejections)

    @cached_property
    def _reads(self) -> Reads:
        return Reads(self.graph, self._launches, self._pardons)

    @cached_property
    def launching(self) -> Mapping[int, Reason]:
        """The functions that put work on the device."""
        return self._launches.found

    @cached_property
    def gates(self) -> Mapping[int, Gate]:
        """The functions that check the opt-in."""
        return self._gates.found

    @cached_property
    def rejecting(self) -> Mapping[int, Reason]:
        """The functions that refuse device data."""
        return self._rejections.found

    @cached_property
    def reads(self) -> Mapping[int, tuple[Read, ...]]:
        """The functions that read device data on the host."""
        return self._reads.found

    def flow(self, function: Fn) -> Flow:
        """Return the control flow of a function."""
        return self.graph.flow(function)

    def callers(self, callee: Fn) -> Iterator[tuple[Fn, Call]]:
        """Yield the calls that may call a function."""
        return self.graph.callers(callee)

    def place_at(self, function: Fn, call: Call) -> Place | None:
        """Say where data must be when control reaches a call."""
        return self.graph.place_at(function, call)

    def is_device_off(self, function: Fn) -> bool:
        """Say whether a function is compiled only where no GPU feature is on."""
        return self.graph.is_device_off(function)

    def is_kernel(self, function: Fn) -> bool:
        """Say whether the body of a function is device code."""
        return self.graph.is_kernel(function)

    def is_launch(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device by itself."""
        return self._launches.is_launch(function, call)

    def is_launch_name(self, name: str) -> bool:
        """Say whether a name launches work whatever it is called on."""
        return self._launches.is_launch_name(name)

    def is_backend_operation(self, function: Fn, call: Call) -> bool:
        """Say whether a call is an operation of the device backend, no transfer and no allocation."""
        return self._launches.is_backend_operation(function, call)

    def asks_backend(self, function: Fn, call: Call) -> bool:
        """Say whether a method is called on the device backend, whatever it does."""
        return self._launches.asks_backend(function, call)

    def is_gate_read(self, function: Fn, call: Call) -> bool:
        """Say whether a call reads the opt-in variable of the environment."""
        return self._gates.is_gate_read(function, call)

    def is_read_once(self, function: Fn, call: Call) -> bool:
        """Say whether a read of the variable stands inside an initialiser that runs once."""
        return self._gates.is_read_once(function, call)

    def is_refusing_access(self, function: Fn, call: Call) -> bool:
        """Say whether a call returns an error when its receiver is on a device, and passes it on."""
        return self._rejections.is_refusing_access(function, call)

    def gate_of(self, function: Fn, call: Call) -> Gate | None:
        """Return the gate that a call checks: a helper's, or the variable itself."""
        return self._gates.gate_of(function, call)

    def opens(self, condition: str, holds: bool) -> bool | None:
        """Say whether an atomic condition that holds means that the user opted in."""
        return self._gates.opens(condition, holds)

    def pardon(self, function: Fn, call: Call) -> str:
        """Say what makes reading device data on the host legal at a call; empty when nothing does."""
        return self._pardons.pardon(function, call)

    def gate_flaw(self, function: Fn, call: Call) -> str:
        """Say why the gate before a read does not hold; empty when none stands there, or when it holds."""
        return self._pardons.gate_flaw(function, call)

    def is_host_helper(self, function: Fn) -> bool:
        """Say whether a function computes on the host for others, so that its callers answer for it."""
        return self._reads.is_host_helper(function)

    def answers_elsewhere(self, function: Fn) -> bool:
        """Say whether only the callers of a host helper answer for it, and not the helper itself."""
        return self._reads.answers_elsewhere(function)

"""What the code can do for an operator, dtype, device and direction, derived from facts of a scan.

A case is served by implementations: methods of the backend in force, kernels, operations of the layers
above. Each has effects. `derive` says which state follows, and which implementation proves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from audit.parity.catalogue import Direction
from audit.parity.counterparts import Support


class Effect(StrEnum):
    """What an implementation does with data that is on the device."""

    LAUNCH = "launch"
    DEVICE_OPERATORS = "device-operators"
    HOST_READ = "host-read"
    GATED_HOST_READ = "gated-host-read"
    STRUCTURED_ERROR = "structured-error"
    TEXT_ERROR = "text-error"
    HOST = "host"


class Layer(StrEnum):
    """Where an implementation stands, from the caller down."""

    OPERATION = "operation"
    BACKEND = "backend"
    KERNEL = "kernel"
    DEVICE_CODE = "device-code"
    SCALAR = "scalar-function"


class State(StrEnum):
    """What becomes of a case."""

    KERNEL = "kernel"
    COMPOSITE = "composite"
    KERNEL_OR_FALLBACK = "kernel-or-fallback"
    OPT_IN_FALLBACK = "opt-in-fallback"
    FALLBACK = "fallback"
    STRUCTURED_ERROR = "structured-error"
    TEXT_ERROR = "text-error"
    HOST_ONLY = "host-only"
    UNCALLED_KERNEL = "uncalled-kernel"
    BROKEN_KERNEL = "broken-kernel"
    ABSENT = "absent"

    @property
    def can(self) -> bool:
        """Whether the case is computed on the device, and nowhere else by default."""
        return self in (State.KERNEL, State.COMPOSITE)


# The worst of several implementations that a case needs decides, in this order.
_WORST_FIRST = (
    State.TEXT_ERROR,
    State.STRUCTURED_ERROR,
    State.BROKEN_KERNEL,
    State.FALLBACK,
    State.HOST_ONLY,
    State.OPT_IN_FALLBACK,
    State.KERNEL_OR_FALLBACK,
    State.KERNEL,
    State.COMPOSITE,
)


_TOUCHES_DEVICE = frozenset(
    {Effect.LAUNCH, Effect.DEVICE_OPERATORS, Effect.HOST_READ, Effect.GATED_HOST_READ, Effect.TEXT_ERROR}
)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of code."""

    path: str
    line: int
    symbol: str


@dataclass(frozen=True, slots=True)
class Implementation:
    """A function that serves a case.

    `via` is the line from which it is reached where that is not its own (the call in the layer above);
    `broken_ptx` names the constant that the assembler rejects, where it launches one; `test` is a test that
    runs it on a device.
    """

    place: Place
    layer: Layer
    effects: frozenset[Effect]
    is_called: bool = True
    broken_ptx: str = ""
    via: Place | None = None
    note: str = ""
    test: Place | None = None


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """What a cell of the matrix is about. `operator` is the counterpart's name in PyTorch."""

    operator: str
    dtype: str
    device: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Cell:
    """A case, its state, what proves it, and PyTorch's answer; `verdict` is what a verification saw."""

    case: Case
    state: State
    proof: Implementation | None
    implementations: tuple[Implementation, ...]
    support: Support
    verdict: str = ""

    @property
    def is_gap(self) -> bool:
        """Whether PyTorch computes the case on the device and the code does not, or not always."""
        return self.support.state.can and not self.state.can


def state_of(implementation: Implementation) -> State:
    """Return the state that follows from one implementation alone."""
    effects = implementation.effects
    launches = Effect.LAUNCH in effects
    if launches and implementation.broken_ptx:
        return State.BROKEN_KERNEL
    if launches:
        if Effect.HOST_READ in effects:
            return State.KERNEL_OR_FALLBACK
        return State.OPT_IN_FALLBACK if Effect.GATED_HOST_READ in effects else State.KERNEL
    for effect, state in (
        (Effect.HOST_READ, State.FALLBACK),
        (Effect.GATED_HOST_READ, State.OPT_IN_FALLBACK),
        (Effect.TEXT_ERROR, State.TEXT_ERROR),
        (Effect.STRUCTURED_ERROR, State.STRUCTURED_ERROR),
        (Effect.DEVICE_OPERATORS, State.COMPOSITE),
    ):
        if effect in effects:
            return state
    return State.HOST_ONLY


def derive(
    case: Case, implementations: Iterable[Implementation], support: Support, *, verdict: str = ""
) -> Cell:
    """Return the cell of a case.

    Operations and backend methods are on the way of a call, so the worst of them decides; the host half of
    an operator that has a device path (it refuses device data, or never sees any) is on no way. Kernels
    count only where nothing else does: one that no product code calls makes the case `uncalled-kernel`,
    however good it is. Scalar functions are written for the host and stand in the way of nothing: they make
    a case `host-only` where nothing else serves it. Without any implementation the case is `absent`. On the
    CPU every operation counts.
    """
    rows = tuple(sorted(implementations, key=lambda row: (row.layer, row.place)))
    kernels = [row for row in rows if row.layer in (Layer.KERNEL, Layer.DEVICE_CODE)]
    deciding = _on_the_way(rows) or _best_kernel(rows) or ([] if kernels else list(rows))
    if case.device == "cpu" and rows:
        return Cell(case, State.KERNEL, rows[0], rows, support, verdict)
    if deciding:
        proof = min(deciding, key=_badness)
        return Cell(case, state_of(proof), proof, rows, support, verdict)
    if kernels:
        return Cell(case, State.UNCALLED_KERNEL, kernels[0], rows, support, verdict)
    return Cell(case, State.ABSENT, None, rows, support, verdict)


def _badness(implementation: Implementation) -> int:
    return _WORST_FIRST.index(state_of(implementation))


def _on_the_way(rows: tuple[Implementation, ...]) -> list[Implementation]:
    upper = [row for row in rows if row.layer in (Layer.OPERATION, Layer.BACKEND)]
    device = [row for row in upper if row.effects & _TOUCHES_DEVICE or row.layer is Layer.BACKEND]
    return device or upper


def _best_kernel(rows: tuple[Implementation, ...]) -> list[Implementation]:
    """Of several called kernels for one case each is a way to compute it: the best one counts.

    Device code is what such functions launch. It says nothing of what they do around the launch, so it
    counts only alone.
    """
    for layer in (Layer.KERNEL, Layer.DEVICE_CODE):
        called = [row for row in rows if row.layer is layer and row.is_called]
        if called:
            return [max(called, key=_badness)]
    return []

"""Why a site or gap has its answer: PyTorch's facts, what the code does now, so what the policy says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from audit.parity.capability import Case, Cell, Place, State
from audit.parity.catalogue import Autograd, Catalogue, Direction, Operator
from audit.parity.counterparts import Support, SupportState, operators, reached, support

_TEMPORARY = (
    "Until then the code returns a structured error; a fallback behind FERROTORCH_ENABLE_GPU_FALLBACK that "
    "warns on every call is a documented temporary measure with this work as its follow-up."
)
_SHOWN = 6
# Where a public name without an operator of its own is Python code that calls operators.
_IN_PYTHON = ("torch.nn.", "torch.distributions.", "torchvision.models.", "torchvision.transforms.")
# What PyTorch calls to check arguments, to share storage or to leave autograd: no part of what is computed.
_BESIDE = frozenset({"_is_all_true", "_local_scalar_dense", "alias", "detach", "is_nonzero", "lift_fresh"})


class Answer(StrEnum):
    """What the policy wants, given what PyTorch does."""

    DEVICE_KERNEL = "device-kernel"
    COMPOSITE = "composite"
    STRUCTURED_ERROR = "structured-error"


@dataclass(frozen=True, slots=True)
class Rationale:
    """Four sentences, each from data, and the answer they lead to."""

    registers: str
    raises: str
    now: str
    answer: Answer
    therefore: str
    source: str

    @property
    def text(self) -> str:
        """The whole text, a paragraph."""
        parts = (self.registers, self.raises, self.now, self.therefore, self.source)
        return " ".join(part for part in parts if part)


_NOW = {
    State.KERNEL: "the code launches a device kernel",
    State.COMPOSITE: "the code composes it of device operators",
    State.KERNEL_OR_FALLBACK: "the code launches a kernel, and computes on the host by default otherwise",
    State.OPT_IN_FALLBACK: "the code computes on the host when the user opts in",
    State.FALLBACK: "the code reads the device data and computes on the host by default",
    State.STRUCTURED_ERROR: "the code returns a structured error",
    State.TEXT_ERROR: "the code returns a text in a catch-all error",
    State.HOST_ONLY: "the code has a host body only",
    State.UNCALLED_KERNEL: "the code has a kernel that no product code calls",
    State.BROKEN_KERNEL: "the code embeds a kernel that the assembler rejects",
    State.ABSENT: "the code has no code for it",
}


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _keys(row: Operator) -> str:
    keys = row.kernels or tuple(sorted(row.declared))
    return f"aten::{row.name} under {_listed(keys)}"


def _gradient(rows: tuple[Operator, ...]) -> str:
    kinds = {row.autograd for row in rows}
    if Autograd.FORMULA in kinds:
        return "its backward is a formula of derivatives.yaml"
    if Autograd.COMPOSITE in kinds:
        return "its backward follows from the operators it is composed of"
    return "it has no backward of its own"


def _registers(catalogue: Catalogue, counterpart: str, answer: Support) -> str:
    rows = tuple(
        row for row in operators(catalogue, counterpart) if row.is_native and "(a!)" not in row.schema
    )
    if rows:
        shown = "; ".join(_keys(row) for row in rows[:2])
        return f"PyTorch registers {shown}; {_gradient(rows)}. Of this case: {answer.proof}."
    seen = reached(catalogue, counterpart)
    if seen is not None and seen.forward:
        return f"PyTorch's {counterpart} reaches {_listed(seen.forward)}. Of this case: {answer.proof}."
    return f"PyTorch has {counterpart}; {answer.proof}."


def _parts(catalogue: Catalogue, counterpart: str, direction: Direction) -> tuple[str, ...]:
    """Return the operators that PyTorch composes a counterpart of, itself left out."""
    seen = reached(catalogue, counterpart)
    if seen is None:
        return ()
    own = {row.base for row in operators(catalogue, counterpart)}
    names = seen.forward if direction is Direction.FORWARD else seen.backward
    return tuple(name for name in names if name.partition(".")[0] not in own | _BESIDE)


def _kernel_behind(catalogue: Catalogue, counterpart: str, device: str) -> str:
    """Return the operator with a kernel that one without calls: `fill_` behind `fill`."""
    key = device.upper()
    for base in sorted({row.base for row in operators(catalogue, counterpart)}):
        for row in (*catalogue.overloads(f"{base}_"), *catalogue.overloads(f"_{base}")):
            if key in row.kernels or key in row.declared:
                return row.name
    return ""


def _composite(
    catalogue: Catalogue, case: Case, counterpart: str, what: str, reference: str
) -> tuple[Answer, str]:
    names = _parts(catalogue, counterpart, case.direction)
    if names:
        of = _listed(names)
        return (
            Answer.COMPOSITE,
            f"So the answer is a composite of {of} on the device for {what}. {_TEMPORARY}",
        )
    behind = _kernel_behind(catalogue, counterpart, reference)
    if behind and case.direction is Direction.FORWARD:
        why = f"as PyTorch's calls aten::{behind}, which has one"
        return Answer.DEVICE_KERNEL, f"So the answer is a device kernel for {what}, {why}. {_TEMPORARY}"
    why = "PyTorch has no kernel of its own for it"
    return Answer.COMPOSITE, f"So the answer is a composite on the device for {what}: {why}. {_TEMPORARY}"


def _therefore(
    catalogue: Catalogue, case: Case, counterpart: str, answer: Support, state: State | None, reference: str
) -> tuple[Answer, str]:
    what = f"{counterpart} {case.direction} in {case.dtype} on {case.device}"
    if answer.state.can and state is not None and state.can:
        kind = Answer.DEVICE_KERNEL if state is State.KERNEL else Answer.COMPOSITE
        return kind, f"So the code has the answer for {what}: it computes on the device, as PyTorch does."
    if answer.state is SupportState.KERNEL:
        return Answer.DEVICE_KERNEL, f"So the answer is a device kernel for {what}. {_TEMPORARY}"
    if answer.state is SupportState.COMPOSITE:
        return _composite(catalogue, case, counterpart, what, reference)
    variant = f"`GpuError::Unsupported {{ op, dtype: {case.dtype}, device: {case.device} }}`"
    if answer.state is SupportState.REFUSED:
        return (
            Answer.STRUCTURED_ERROR,
            f"So the answer is a structured error, {variant}, as PyTorch refuses {what}.",
        )
    if answer.state is SupportState.NOT_DIFFERENTIABLE:
        return (
            Answer.STRUCTURED_ERROR,
            f"So the answer is a structured error, {variant}: {what} does not exist.",
        )
    if any(case.device.upper() in (*row.kernels, *row.declared) for row in operators(catalogue, counterpart)):
        return (
            Answer.DEVICE_KERNEL,
            f"So the answer is a device kernel for {what}, as PyTorch registers one. {_TEMPORARY}",
        )
    names = _parts(catalogue, counterpart, Direction.FORWARD)
    if names:
        of = _listed(names)
        return (
            Answer.COMPOSITE,
            f"So the answer is a composite of {of}, as PyTorch's is, for {what}. {_TEMPORARY}",
        )
    if counterpart.startswith(_IN_PYTHON):
        why = "PyTorch has no operator of this name and computes it in Python with those that it has"
        return Answer.COMPOSITE, f"So the answer is a composite on the device for {what}: {why}. {_TEMPORARY}"
    why = f"this catalogue has no run of {what}, and the policy's default is to refuse"
    return Answer.STRUCTURED_ERROR, f"So the answer is a structured error, {variant}: {why}."


def _source(catalogue: Catalogue) -> str:
    facts = catalogue.environment
    on = f" on {facts['gpu_name']} (CUDA {facts['cuda_version']})" if facts.get("gpu_name") else ""
    return f"Source: torch {catalogue.version}{on}, taken {facts['taken_at'][:10]}."


def _raises(answer: Support) -> str:
    _, found, what = answer.proof.partition("raises ")
    return f"PyTorch raises {what}." if found else ""


def said_now(state: State | None, place: Place | None, note: str) -> str:
    """Say what the code does now: by its state, or else in the words of `note`."""
    if state is None and not note:
        return ""
    said = _NOW[state] if state is not None else note
    where = f" ({place.symbol}, {place.path}:{place.line})" if place is not None else ""
    more = f": {note}" if note and state is not None else ""
    return f"Now {said}{where}{more}."


def of_case(
    catalogue: Catalogue,
    case: Case,
    *,
    state: State | None = None,
    place: Place | None = None,
    note: str = "",
    reference_device: str = "",
) -> Rationale:
    """Explain a case: a capability gap, or a site whose operation, dtype and device are known.

    `state`, `place` and `note` say what the code does now; `reference_device` is the PyTorch device that a
    backend PyTorch does not know is held to.
    """
    device = reference_device or case.device
    answer = support(catalogue, case.operator, case.dtype, device, case.direction)
    now = said_now(state, place, note)
    if answer.state is SupportState.ABSENT:
        return without_counterpart(catalogue, case.operator, now=now)
    kind, therefore = _therefore(catalogue, case, case.operator, answer, state, device)
    registers = _registers(catalogue, case.operator, answer)
    return Rationale(registers, _raises(answer), now, kind, therefore, _source(catalogue))


def of_cell(catalogue: Catalogue, cell: Cell, *, reference_device: str = "") -> Rationale:
    """Explain a cell of the capability matrix."""
    proof = cell.proof
    return of_case(
        catalogue,
        cell.case,
        state=cell.state,
        place=proof.place if proof else None,
        note=proof.note if proof else "",
        reference_device=reference_device,
    )


def without_counterpart(catalogue: Catalogue, name: str, *, reason: str = "", now: str = "") -> Rationale:
    """Explain an operation that PyTorch has not."""
    why = f" ({reason})" if reason else ""
    return Rationale(
        registers=f"PyTorch has no counterpart of {name}{why}.",
        raises="",
        now=now,
        answer=Answer.STRUCTURED_ERROR,
        therefore=(
            "PyTorch gives no answer here; the policy's own does: a function named or located as GPU code "
            "launches a kernel or returns a structured error."
        ),
        source=_source(catalogue),
    )

"""Why a site or gap has its answer: PyTorch's facts, what the code does now, so what the policy says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from audit.parity import sentences
from audit.parity.capability import Case, Cell, Place, State
from audit.parity.catalogue import Autograd, Catalogue, Direction, Operator
from audit.parity.counterparts import Support, SupportState, operators, reached, support
from audit.policy.sentences import NOTHING, Said, Sentence, clauses_of

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
    DEVICE_TEST = "device-test"


@dataclass(frozen=True, slots=True)
class Rationale:
    """Sentences, each from data, the answer they lead to, and the clauses of the policy they rest on."""

    registers: str
    raises: str
    now: str
    answer: Answer
    therefore: str
    source: str
    clauses: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole text, a paragraph."""
        parts = (self.registers, self.raises, self.now, self.therefore, self.source)
        return " ".join(part for part in parts if part)


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


def _registers(catalogue: Catalogue, counterpart: str, answer: Support) -> Said:
    rows = tuple(
        row for row in operators(catalogue, counterpart) if row.is_native and "(a!)" not in row.schema
    )
    if rows:
        shown = "; ".join(_keys(row) for row in rows[:2])
        return sentences.REGISTERS.said(keys=shown, gradient=_gradient(rows), proof=answer.proof)
    seen = reached(catalogue, counterpart)
    if seen is not None and seen.forward:
        names = _listed(seen.forward)
        return sentences.REACHES.said(counterpart=counterpart, names=names, proof=answer.proof)
    return sentences.HAS.said(counterpart=counterpart, proof=answer.proof)


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


def _wanted(answer: Answer, sentence: Sentence, **words: str) -> tuple[Answer, tuple[Said, ...]]:
    """Return work that is to be done, with what holds until it is."""
    return answer, (sentence.said(**words), sentences.TEMPORARY.said())


def _composite(
    catalogue: Catalogue, case: Case, counterpart: str, what: str, reference: str
) -> tuple[Answer, tuple[Said, ...]]:
    names = _parts(catalogue, counterpart, case.direction)
    if names:
        return _wanted(Answer.COMPOSITE, sentences.COMPOSITE_OF, names=_listed(names), what=what)
    behind = _kernel_behind(catalogue, counterpart, reference)
    if behind and case.direction is Direction.FORWARD:
        return _wanted(Answer.DEVICE_KERNEL, sentences.KERNEL_BEHIND, what=what, behind=behind)
    return _wanted(Answer.COMPOSITE, sentences.COMPOSITE, what=what)


def _therefore(
    catalogue: Catalogue, case: Case, counterpart: str, answer: Support, state: State | None, reference: str
) -> tuple[Answer, tuple[Said, ...]]:
    what = f"{counterpart} {case.direction} in {case.dtype} on {case.device}"
    if answer.state.can and state is not None and state.can:
        kind = Answer.DEVICE_KERNEL if state is State.KERNEL else Answer.COMPOSITE
        return kind, (sentences.HAS_ANSWER.said(what=what),)
    if answer.state is SupportState.KERNEL:
        return _wanted(Answer.DEVICE_KERNEL, sentences.KERNEL, what=what)
    if answer.state is SupportState.COMPOSITE:
        return _composite(catalogue, case, counterpart, what, reference)
    words = {
        "what": what,
        "variant": f"`GpuError::Unsupported {{ op, dtype: {case.dtype}, device: {case.device} }}`",
    }
    if answer.state is SupportState.REFUSED:
        return Answer.STRUCTURED_ERROR, (sentences.REFUSED.said(**words),)
    if answer.state is SupportState.NOT_DIFFERENTIABLE:
        return Answer.STRUCTURED_ERROR, (sentences.NOT_DIFFERENTIABLE.said(**words),)
    if any(case.device.upper() in (*row.kernels, *row.declared) for row in operators(catalogue, counterpart)):
        return _wanted(Answer.DEVICE_KERNEL, sentences.KERNEL_REGISTERED, what=what)
    names = _parts(catalogue, counterpart, Direction.FORWARD)
    if names:
        return _wanted(Answer.COMPOSITE, sentences.COMPOSITE_AS_PYTORCH, names=_listed(names), what=what)
    if counterpart.startswith(_IN_PYTHON):
        return _wanted(Answer.COMPOSITE, sentences.COMPOSITE_IN_PYTHON, what=what)
    return Answer.STRUCTURED_ERROR, (sentences.NOT_RUN.said(**words),)


def _source(catalogue: Catalogue) -> Said:
    facts = catalogue.environment
    on = f" on {facts['gpu_name']} (CUDA {facts['cuda_version']})" if facts.get("gpu_name") else ""
    return sentences.SOURCE.said(version=catalogue.version, on=on, day=facts["taken_at"][:10])


def _raises(answer: Support) -> Said:
    _, found, what = answer.proof.partition("raises ")
    return sentences.RAISES.said(what=what) if found else NOTHING


def said_now(state: State | None, place: Place | None, note: str) -> Said:
    """Say what the code does now: by its state, or else in the words of `note`."""
    where = f" ({place.symbol}, {place.path}:{place.line})" if place is not None else ""
    if state is not None:
        return sentences.NOW[state].said(where=where, more=f": {note}" if note else "")
    return sentences.NOW_NOTED.said(note=note, where=where) if note else NOTHING


def _rationale(
    registers: Said, raises: Said, now: Said, answer: Answer, therefore: tuple[Said, ...], source: Said
) -> Rationale:
    return Rationale(
        registers=registers.text,
        raises=raises.text,
        now=now.text,
        answer=answer,
        therefore=" ".join(one.text for one in therefore),
        source=source.text,
        clauses=clauses_of((*therefore, registers, raises, now, source)),
    )


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
    return _rationale(registers, _raises(answer), now, kind, therefore, _source(catalogue))


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


def without_counterpart(
    catalogue: Catalogue, name: str, *, reason: str = "", now: Said = NOTHING
) -> Rationale:
    """Explain an operation that PyTorch has not."""
    return _rationale(
        sentences.NO_COUNTERPART.said(name=name, why=f" ({reason})" if reason else ""),
        NOTHING,
        now,
        Answer.STRUCTURED_ERROR,
        (sentences.OWN_ANSWER.said(),),
        _source(catalogue),
    )


def of_test(catalogue: Catalogue, case: Case | None, *, now: Said = NOTHING) -> Rationale:
    """Explain a test that is missing or never reaches the device; `case` is what it would run, where known.

    What PyTorch has on the device says what there is to test, and nothing about what the code computes.
    """
    answer = support(catalogue, case.operator, case.dtype, case.device, case.direction) if case else None
    registers, raises = NOTHING, NOTHING
    if case is not None and answer is not None and answer.state is not SupportState.ABSENT:
        registers, raises = _registers(catalogue, case.operator, answer), _raises(answer)
    return _rationale(
        registers, raises, now, Answer.DEVICE_TEST, (sentences.TEST.said(),), _source(catalogue)
    )

"""The sentences of a rationale, each with the clauses that it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from audit.parity.capability import State
from audit.policy.links import STATE_CLAUSES
from audit.policy.sentences import Sentence

REGISTERS = Sentence(
    "pytorch-registers", "PyTorch registers {keys}; {gradient}. Of this case: {proof}.", ("S1",)
)
REACHES = Sentence(
    "pytorch-reaches", "PyTorch's {counterpart} reaches {names}. Of this case: {proof}.", ("S1", "A2")
)
HAS = Sentence("pytorch-has", "PyTorch has {counterpart}; {proof}.", ("S1",))
NO_COUNTERPART = Sentence("no-counterpart", "PyTorch has no counterpart of {name}{why}.", ("S1",))
RAISES = Sentence("pytorch-raises", "PyTorch raises {what}.", ("M2", "A1"))

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
NOW: Mapping[State, Sentence] = {
    state: Sentence(f"now-{state}", f"Now {said}{{where}}{{more}}.", STATE_CLAUSES[state])
    for state, said in _NOW.items()
}
NOW_NOTED = Sentence("now-noted", "Now {note}{where}.", ("V2", "V3"))

HAS_ANSWER = Sentence(
    "has-the-answer",
    "So the code has the answer for {what}: it computes on the device, as PyTorch does.",
    ("S1", "M1", "V2"),
)
KERNEL = Sentence("answer-kernel", "So the answer is a device kernel for {what}.", ("S1", "M1"))
KERNEL_BEHIND = Sentence(
    "answer-kernel-behind",
    "So the answer is a device kernel for {what}, as PyTorch's calls aten::{behind}, which has one.",
    ("S1", "M1"),
)
KERNEL_REGISTERED = Sentence(
    "answer-kernel-registered",
    "So the answer is a device kernel for {what}, as PyTorch registers one.",
    ("S1", "M1"),
)
COMPOSITE_OF = Sentence(
    "answer-composite-of",
    "So the answer is a composite of {names} on the device for {what}.",
    ("S1", "A2"),
)
COMPOSITE_AS_PYTORCH = Sentence(
    "answer-composite-as-pytorch",
    "So the answer is a composite of {names}, as PyTorch's is, for {what}.",
    ("S1", "A2"),
)
COMPOSITE = Sentence(
    "answer-composite",
    "So the answer is a composite on the device for {what}: PyTorch has no kernel of its own for it.",
    ("S1", "A2"),
)
COMPOSITE_IN_PYTHON = Sentence(
    "answer-composite-in-python",
    "So the answer is a composite on the device for {what}: PyTorch has no operator of this name and "
    "computes it in Python with those that it has.",
    ("S1", "A2"),
)
TEMPORARY = Sentence(
    "until-then",
    "Until then the code returns a structured error; a fallback behind FERROTORCH_ENABLE_GPU_FALLBACK that "
    "warns on every call is a documented temporary measure with this work as its follow-up.",
    ("A1", "A4", "S2"),
)
REFUSED = Sentence(
    "answer-error-as-pytorch",
    "So the answer is a structured error, {variant}, as PyTorch refuses {what}.",
    ("S1", "M2", "M3"),
)
NOT_DIFFERENTIABLE = Sentence(
    "answer-error-no-backward",
    "So the answer is a structured error, {variant}: {what} does not exist.",
    ("S1", "M2", "M3"),
)
NOT_RUN = Sentence(
    "answer-error-not-run",
    "So the answer is a structured error, {variant}: this catalogue has no run of {what}, and the policy's "
    "default is to refuse.",
    ("M2", "M3"),
)
OWN_ANSWER = Sentence(
    "answer-of-the-policy",
    "PyTorch gives no answer here; the policy's own does: a function named or located as GPU code "
    "launches a kernel or returns a structured error.",
    ("M1", "M2"),
)
TEST = Sentence(
    "answer-test",
    "So the answer is a test that runs it on the device: PyTorch makes its operator tests once for every "
    "device type. Whether it computes there or refuses is what the test holds.",
    ("V5", "V7"),
)
SOURCE = Sentence("source", "Source: torch {version}{on}, taken {day}.", ("V1",))

PARITY_SENTENCES = (
    REGISTERS,
    REACHES,
    HAS,
    NO_COUNTERPART,
    RAISES,
    *NOW.values(),
    NOW_NOTED,
    HAS_ANSWER,
    KERNEL,
    KERNEL_BEHIND,
    KERNEL_REGISTERED,
    COMPOSITE_OF,
    COMPOSITE_AS_PYTORCH,
    COMPOSITE,
    COMPOSITE_IN_PYTHON,
    TEMPORARY,
    REFUSED,
    NOT_DIFFERENTIABLE,
    NOT_RUN,
    OWN_ANSWER,
    TEST,
    SOURCE,
)

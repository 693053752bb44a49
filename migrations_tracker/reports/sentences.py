"""The sentences that a report may say, each only where its evidence holds (policy, clauses W1 to W3)."""

from __future__ import annotations

from dataclasses import dataclass

from audit.policy.links import OUTCOME_CLAUSES, RULE_CLAUSES
from audit.scanner.report import Outcome

# The rules whose sites computed on the host unasked: what is gone of them is a silent fallback.
_FALLBACKS = frozenset({"FT001", "FT011", "FT012", "FT013"})
_ON_DEVICE = "on-device"
_OPT_IN_PROVED = "opt-in-proved"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the clauses of the policy that it rests on."""

    text: str
    clauses: tuple[str, ...]


def closed_sentence(*, rule_id: str, symbol: str, outcome: str, verdict: str) -> Sentence:
    """Say what became of a site, as strongly as outcome and verdict bear it out and no stronger.

    `verdict` is that of a run on a GPU, empty where there was none.
    """
    name = f"`{symbol.rpartition('::')[2] or symbol}`"
    if not outcome:
        return Sentence(
            f"The scanner no longer sees {name}; what became of it is not known.",
            RULE_CLAUSES.get(rule_id, ()),
        )
    known = Outcome(outcome)
    return Sentence(_known(rule_id, name, known, verdict), ("W1", *OUTCOME_CLAUSES[known]))


def _known(rule_id: str, name: str, outcome: Outcome, verdict: str) -> str:
    if outcome is Outcome.STRUCTURED_ERROR:
        if rule_id in _FALLBACKS:
            return f"Removed silent CPU fallback in {name}; now returns Err(..)."
        return f"{name} returns a structured error now."
    if outcome is Outcome.DEVICE_KERNEL:
        if verdict == _ON_DEVICE:
            return f"Implemented {name} on GPU; returns Err(..) when GPU not available."
        return f"The code of {name} puts the work on the device; no run on a GPU has shown it."
    if outcome is Outcome.OPT_IN_FALLBACK:
        if verdict == _OPT_IN_PROVED:
            return f"{name} falls back to the CPU only when opted in, and warns at each fallback."
        return f"{name} has a CPU fallback that is opt-in and warns, by its code; no run has shown it."
    return {
        Outcome.COMPOSITE: f"{name} is composed of operators that run where their operands are.",
        Outcome.EXPLICIT_TRANSFER: f"{name} says by its name or its result that it transfers.",
        Outcome.REMOVED: f"Removed {name}, or what was flagged in it.",
    }[outcome]

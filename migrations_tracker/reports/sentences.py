"""The sentences that a report may say, each only where its evidence holds (policy, clauses W1 to W3)."""

from __future__ import annotations

from audit.policy.links import OUTCOME_CLAUSES, RULE_CLAUSES
from audit.policy.sentences import Said, Sentence
from audit.scanner.report import Outcome

# The rules whose sites computed on the host unasked: what is gone of them is a silent fallback.
_FALLBACKS = frozenset({"FT001", "FT011", "FT012", "FT013"})
_ON_DEVICE = "on-device"
_OPT_IN_PROVED = "opt-in-proved"


def _of(outcome: Outcome) -> tuple[str, ...]:
    return ("W1", *OUTCOME_CLAUSES[outcome])


NOT_KNOWN = Sentence(
    "not-known", "The scanner no longer sees {name}; what became of it is not known.", ("W3",)
)
FALLBACK_REMOVED = Sentence(
    "fallback-removed",
    "Removed silent CPU fallback in {name}; now returns Err(..).",
    _of(Outcome.STRUCTURED_ERROR),
)
ERROR_NOW = Sentence("error-now", "{name} returns a structured error now.", _of(Outcome.STRUCTURED_ERROR))
IMPLEMENTED = Sentence(
    "implemented",
    "Implemented {name} on GPU; returns Err(..) when GPU not available.",
    (*_of(Outcome.DEVICE_KERNEL), "V6"),
)
NOT_SHOWN = Sentence(
    "kernel-not-shown",
    "The code of {name} puts the work on the device; no run on a GPU has shown it.",
    (*_of(Outcome.DEVICE_KERNEL), "W2", "V6"),
)
OPT_IN_PROVED = Sentence(
    "opt-in-proved",
    "{name} falls back to the CPU only when opted in, and warns at each fallback.",
    _of(Outcome.OPT_IN_FALLBACK),
)
OPT_IN_NOT_SHOWN = Sentence(
    "opt-in-not-shown",
    "{name} has a CPU fallback that is opt-in and warns, by its code; no run has shown it.",
    (*_of(Outcome.OPT_IN_FALLBACK), "W2"),
)
COMPOSED = Sentence(
    "composite",
    "{name} is composed of operators that run where their operands are.",
    _of(Outcome.COMPOSITE),
)
TRANSFER = Sentence(
    "explicit-transfer",
    "{name} says by its name or its result that it transfers.",
    _of(Outcome.EXPLICIT_TRANSFER),
)
GONE = Sentence("removed", "Removed {name}, or what was flagged in it.", _of(Outcome.REMOVED))
UNVERIFIED = Sentence(
    "unverified",
    "What no GPU has looked at is not called implemented here, whatever its code says.",
    ("W1", "W2", "V6"),
)
NOTHING_OPEN = Sentence(
    "nothing-open",
    "The scan saw no site on this branch. What it did not look at is listed below, if anything.",
    ("W3", "V1"),
)
GAPS_NOT_KNOWN = Sentence(
    "gaps-not-known", "What is not known of this branch's capability gaps is not counted: {reason}", ("W3",)
)
CUT_SHORT = Sentence("cut-short", "{count:,} more entries are in the other formats of this report.", ("W3",))

REPORT_SENTENCES = (
    NOT_KNOWN,
    FALLBACK_REMOVED,
    ERROR_NOW,
    IMPLEMENTED,
    NOT_SHOWN,
    OPT_IN_PROVED,
    OPT_IN_NOT_SHOWN,
    COMPOSED,
    TRANSFER,
    GONE,
    UNVERIFIED,
    NOTHING_OPEN,
    GAPS_NOT_KNOWN,
    CUT_SHORT,
)


def closed_sentence(*, rule_id: str, symbol: str, outcome: str, verdict: str) -> Said:
    """Say what became of a site, as strongly as outcome and verdict bear it out and no stronger.

    `verdict` is that of a run on a GPU, empty where there was none. Where the outcome is not known, the
    clauses of the rule are named: they still want an answer.
    """
    name = f"`{symbol.rpartition('::')[2] or symbol}`"
    if not outcome:
        said = NOT_KNOWN.said(name=name)
        return Said(said.text, tuple(dict.fromkeys((*said.clauses, *RULE_CLAUSES.get(rule_id, ())))))
    return _known(rule_id, Outcome(outcome), verdict).said(name=name)


def _known(rule_id: str, outcome: Outcome, verdict: str) -> Sentence:
    if outcome is Outcome.STRUCTURED_ERROR:
        return FALLBACK_REMOVED if rule_id in _FALLBACKS else ERROR_NOW
    if outcome is Outcome.DEVICE_KERNEL:
        return IMPLEMENTED if verdict == _ON_DEVICE else NOT_SHOWN
    if outcome is Outcome.OPT_IN_FALLBACK:
        return OPT_IN_PROVED if verdict == _OPT_IN_PROVED else OPT_IN_NOT_SHOWN
    return {
        Outcome.COMPOSITE: COMPOSED,
        Outcome.EXPLICIT_TRANSFER: TRANSFER,
        Outcome.REMOVED: GONE,
    }[outcome]

"""Which clauses each rule, outcome, verdict and state of a capability rests on."""

from __future__ import annotations

from collections.abc import Mapping

from audit.scanner.report import Outcome

RULE_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "FT001": ("F1", "M2", "M4"),
    "FT002": ("F5", "M1"),
    "FT003": ("F6", "V4"),
    "FT004": ("F7",),
    "FT005": ("F8", "M2"),
    "FT006": ("F4",),
    "FT007": ("M8",),
    "FT008": ("M9", "V3"),
    "FT009": ("F11", "V5"),
    "FT010": ("F10", "V7"),
    "FT011": ("F9", "F3", "M2"),
    "FT012": ("F2", "M5"),
    "FT013": ("M4", "M5", "M6", "F2"),
    "FT014": ("M7",),
    "FT015": ("M10",),
    "FT016": ("M3",),
    "FT017": ("M11",),
    "FT018": ("W2", "W3"),
}

OUTCOME_CLAUSES: Mapping[Outcome, tuple[str, ...]] = {
    Outcome.STRUCTURED_ERROR: ("A1", "M2", "M3", "S2"),
    Outcome.OPT_IN_FALLBACK: ("A4", "M4", "M5", "M6"),
    Outcome.DEVICE_KERNEL: ("M1", "A6"),
    Outcome.COMPOSITE: ("A2",),
    Outcome.EXPLICIT_TRANSFER: ("A5", "M9"),
    Outcome.REMOVED: ("S1",),
}

VERDICT_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "on-device": ("V6", "V2", "M1"),
    "refused": ("A1", "M2", "M3"),
    "opt-in-proved": ("A4", "M4", "M5"),
    "composite": ("A2", "V6"),
    "host-round-trip": ("M9", "V3"),
    "no-kernel": ("V6", "V7", "F10"),
    "skipped": ("F10",),
    "failed": ("V5",),
    "crashed": ("V5",),
    "timed-out": ("V5",),
    "not-built": ("V1",),
    "no-device": ("V1",),
    "inconclusive": ("V1", "V6"),
}

# What becomes of a case of an operator, by the value of its state.
STATE_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "kernel": ("M1", "V2"),
    "composite": ("A2",),
    "kernel-or-fallback": ("F1", "F9", "M4"),
    "opt-in-fallback": ("A4", "M4", "M5"),
    "fallback": ("F1", "M4", "M9"),
    "structured-error": ("A1", "M2", "M3"),
    "text-error": ("M3",),
    "host-only": ("F8", "F5", "M2"),
    "uncalled-kernel": ("V2", "V5"),
    "broken-kernel": ("M11",),
    "absent": ("M2", "M7"),
}

# A capability that falls short of PyTorch's, whatever its state.
GAP_CLAUSES = ("M7", "S1")

"""The device-error policy in numbered, versioned clauses, and what rests on each."""

from __future__ import annotations

from audit.policy.clauses import Clause, ClauseKind, Policy, load_policy

__all__ = ["Clause", "ClauseKind", "Policy", "load_policy"]

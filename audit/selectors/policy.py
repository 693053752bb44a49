"""The policy's clauses as people read them, with what rests on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from audit.policy.clauses import VERSIONS, Clause, ClauseKind, Policy, load_policy
from audit.policy.forms import FORMS, Form
from audit.policy.links import OUTCOME_CLAUSES, RULE_CLAUSES, STATE_CLAUSES, VERDICT_CLAUSES
from audit.selectors.rules import RulePage, rule_get


@dataclass(frozen=True, slots=True)
class ClausePage:
    """A clause, and what of scanner and runner rests on it: a form does by a rule that reports it."""

    clause: Clause
    rules: tuple[RulePage, ...]
    forms: tuple[Form, ...]
    outcomes: tuple[str, ...]
    verdicts: tuple[str, ...]
    states: tuple[str, ...]


def policy_current() -> Policy:
    """Return the policy in force."""
    return load_policy()


def clauses_by_kind() -> Sequence[tuple[ClauseKind, Sequence[ClausePage]]]:
    """List the clauses in reading order, by kind."""
    return [
        (kind, [page for page in _PAGES.values() if page.clause.kind is kind])
        for kind in ClauseKind
        if any(page.clause.kind is kind for page in _PAGES.values())
    ]


def clause_find(*, clause_id: str) -> ClausePage | None:
    """Return the clause with this id, in either case."""
    return _PAGES.get(clause_id.upper())


def clause_in_version(*, clause_id: str, version: str) -> Clause | None:
    """Return a clause as it stands in a version of the policy, None where it is not there."""
    if version not in VERSIONS:
        return None
    clauses = {clause.id: clause for clause in load_policy(version).clauses}
    return clauses.get(clause_id.upper())


def clauses_of_rule(*, rule_id: str) -> tuple[Clause, ...]:
    """Return the clauses that a rule rests on, the first of them first; none for a retired rule."""
    return _clauses(RULE_CLAUSES.get(rule_id, ()))


def clauses_of_outcome(*, outcome: str) -> tuple[Clause, ...]:
    """Return the clauses that an outcome rests on."""
    return _clauses({key.value: value for key, value in OUTCOME_CLAUSES.items()}.get(outcome, ()))


def clauses_of_verdict(*, verdict: str) -> tuple[Clause, ...]:
    """Return the clauses that a verdict rests on; none for no verdict."""
    return _clauses(VERDICT_CLAUSES.get(verdict, ()))


def _clauses(ids: Iterable[str]) -> tuple[Clause, ...]:
    return tuple(_PAGES[clause_id].clause for clause_id in ids)


def _resting(links: Mapping[str, tuple[str, ...]], clause: Clause) -> tuple[str, ...]:
    return tuple(key for key, ids in links.items() if clause.id in ids)


def _page(clause: Clause) -> ClausePage:
    rule_ids = _resting(RULE_CLAUSES, clause)
    return ClausePage(
        clause=clause,
        rules=tuple(rule_get(rule_id=rule_id) for rule_id in rule_ids),
        forms=tuple(form for form in FORMS if set(form.rules) & set(rule_ids)),
        outcomes=_resting({outcome.value: ids for outcome, ids in OUTCOME_CLAUSES.items()}, clause),
        verdicts=_resting(VERDICT_CLAUSES, clause),
        states=_resting(STATE_CLAUSES, clause),
    )


_PAGES: Mapping[str, ClausePage] = {clause.id: _page(clause) for clause in load_policy().clauses}

"""The rules and the policy's clauses."""

from __future__ import annotations

from ninja import Router

from audit.selectors.policy import ClausePage, clause_find, clauses_by_kind, clauses_of_rule
from audit.selectors.rules import RulePage, rule_find, rule_list
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import ClauseOut, RuleOut

router = Router(tags=["knowledge"])


@router.get("/rules", response=list[RuleOut])
def rule_index(request: ProgramRequest) -> list[RuleOut]:
    """List the rules."""
    return [_rule(page) for page in rule_list()]


@router.get("/rules/{key}", response=RuleOut)
def rule_get(request: ProgramRequest, key: str) -> RuleOut:
    """Show a rule by its id or name."""
    found = rule_find(key=key)
    if found is None:
        raise not_found("rule")
    return _rule(found)


@router.get("/clauses", response=list[ClauseOut])
def clause_index(request: ProgramRequest) -> list[ClauseOut]:
    """List the policy's clauses in reading order."""
    return [_clause(page) for _, pages in clauses_by_kind() for page in pages]


@router.get("/clauses/{key}", response=ClauseOut)
def clause_get(request: ProgramRequest, key: str) -> ClauseOut:
    """Show a clause by its id."""
    found = clause_find(clause_id=key)
    if found is None:
        raise not_found("clause")
    return _clause(found)


def _rule(page: RulePage) -> RuleOut:
    return RuleOut(
        id=page.id,
        name=page.name,
        level=page.level,
        summary=page.summary,
        sections=dict(page.sections),
        clauses=[clause.id for clause in clauses_of_rule(rule_id=page.id)],
    )


def _clause(page: ClausePage) -> ClauseOut:
    clause = page.clause
    return ClauseOut(
        id=clause.id,
        kind=clause.kind.value,
        title=clause.title,
        text=clause.text,
        rules=[rule.id for rule in page.rules],
    )

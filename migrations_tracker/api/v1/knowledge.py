"""The rules and the policy's clauses."""

from __future__ import annotations

from typing import Annotated

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Router, Schema

from audit.knowledge.labels import JSON_LINES, label_lines
from audit.selectors.field_precision import labels
from audit.selectors.policy import ClausePage, clause_find, clauses_by_kind, clauses_of_rule
from audit.selectors.rules import RulePage, rule_find, rule_list
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.parameters import Word
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import (
    ClauseOut,
    RuleOut,
)
from migrations_tracker.selectors.clause_rests import sentences_resting
from migrations_tracker.selectors.standings import repositories_seen_by

router = Router(tags=["knowledge"])


class LabelQuery(Schema):
    """What the labels are narrowed to; `commit` is the start of a commit's id."""

    rule: Word = ""
    form: Word = ""
    commit: Word = ""


@router.get("/rules", response=list[RuleOut])
def rule_index(request: ProgramRequest) -> list[RuleOut]:
    """List the rules."""
    return [_rule(page) for page in rule_list()]


@router.get("/rules/{key}", response=RuleOut)
def rule_get(request: ProgramRequest, key: str) -> RuleOut:
    """Show a rule by its id or name."""
    found = rule_find(key=key, repositories=repositories_seen_by(request.user))
    if found is None:
        raise not_found("rule")
    return _rule(found)


@router.get("/repositories/{slug}/labels", response=None, url_name="labels")
def label_index(
    request: ProgramRequest, slug: str, query: Annotated[LabelQuery, Query()]
) -> HttpResponseBase:
    """Send the rulings in force on what is a site and what is none, as lines of JSON."""
    rows = labels(repository=repository_named(slug), rule_id=query.rule, form=query.form, commit=query.commit)
    return StreamingHttpResponse(label_lines(rows), content_type=JSON_LINES)


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
        reason=clause.reason,
        pytorch=clause.pytorch,
        right=clause.right,
        wrong=clause.wrong,
        rules=[rule.id for rule in page.rules],
        forms=[form.key for form in page.forms],
        outcomes=list(page.outcomes),
        verdicts=list(page.verdicts),
        states=list(page.states),
        sentences=[one.shown for group in sentences_resting(clause_id=clause.id) for one in group.sentences],
    )

"""The rules and their pages, made from their modules."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audit.knowledge.links import LinkKind
from audit.selectors.audit_notes import entries_about
from audit.selectors.policy import clauses_of_rule
from audit.selectors.rules import rule_find, rule_list
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors import overview
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.source_frames import frame_of_example


@login_required
@require_GET
def rule_index(request: SignedInRequest) -> HttpResponse:
    """List the rules with how many open sites each has."""
    counts = overview.open_counts_by_rule(repositories=repositories_seen_by(request.user))
    rows = [(rule, counts[rule.id]) for rule in rule_list()]
    return render(request, "rule_list.html", {"rows": rows})


@login_required
@require_GET
def rule_detail(request: SignedInRequest, key: str) -> HttpResponse:
    """Show a rule: its documentation, its examples, and where it matches now."""
    rule = rule_find(key=key)
    if rule is None:
        raise Http404(f"There is no rule {key}.")
    seen = repositories_seen_by(request.user)
    context = {
        "rule": rule,
        "invalid": [(e, frame_of_example(e.source, flagged=e.flagged_lines)) for e in rule.invalid],
        "valid": [(e, frame_of_example(e.source, flagged=())) for e in rule.valid],
        "clauses": clauses_of_rule(rule_id=rule.id),
        "entries": entries_about(
            kind=LinkKind.RULE, target=rule.id, repositories=repositories_seen_by(request.user)
        ),
        "counts": overview.rule_open_counts(rule_id=rule.id, repositories=seen),
    }
    return render(request, "rule_detail.html", context)

"""The rules and their pages, made from their modules."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audit.knowledge.links import LinkKind
from audit.policy.forms import forms_of_rule
from audit.scanner.report import Outcome
from audit.selectors.audit_notes import entries_about
from audit.selectors.field_precision import field_precision
from audit.selectors.policy import clauses_of_rule
from audit.selectors.rules import rule_find, rule_list
from migrations_tracker.http import SignedInRequest
from migrations_tracker.scheduling.rationale import after_shape
from migrations_tracker.selectors import overview
from migrations_tracker.selectors.field_facts import field_facts
from migrations_tracker.selectors.form_pages import forms_counted
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
    """Show a rule: its documentation, its examples and forms, and how it does in the field."""
    seen = repositories_seen_by(request.user)
    rule = rule_find(key=key, repositories=seen)
    if rule is None:
        raise Http404(f"There is no rule {key}.")
    facts = field_facts(repositories=seen, rule_id=rule.id)
    forms = forms_counted(forms=forms_of_rule(rule.id), counts=facts.open_by_form)
    mended: dict[Outcome, None] = dict.fromkeys(outcome for row in forms for outcome in row.form.after)
    context = {
        "rule": rule,
        # What is made of these is kept, so that they are asked for once.
        "invalid": lambda: [(e, frame_of_example(e.source, flagged=e.flagged_lines)) for e in rule.invalid],
        "valid": lambda: [(e, frame_of_example(e.source, flagged=())) for e in rule.valid],
        "clauses": clauses_of_rule(rule_id=rule.id),
        "entries": entries_about(kind=LinkKind.RULE, target=rule.id, repositories=seen),
        "forms": forms,
        "afters": lambda: [
            (outcome, after, frame_of_example(after.rust, flagged=()))
            for outcome in mended
            for after in [after_shape(outcome)]
        ],
        "facts": facts,
        "precision": field_precision(repositories=seen, rule_id=rule.id),
        "judged_query": f"rule={rule.id}",
    }
    return render(request, "rule_detail.html", context)

"""The syntactic forms and their pages."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audit.policy.forms import FORMS_BY_KEY
from audit.selectors.field_precision import field_precision
from audit.selectors.policy import clauses_of_rule
from audit.selectors.rules import rule_get
from migrations_tracker.http import SignedInRequest
from migrations_tracker.scheduling.rationale import after_shape
from migrations_tracker.selectors.field_facts import field_facts, snippets_of
from migrations_tracker.selectors.form_pages import form_rows
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.source_frames import frame_of_example, frame_of_snippet

CODE_SHOWN = 3


@login_required
@require_GET
def form_index(request: SignedInRequest) -> HttpResponse:
    """List the forms with how many open sites each has."""
    return render(
        request,
        "form_list.html",
        {"rows": form_rows(repositories=repositories_seen_by(request.user))},
    )


@login_required
@require_GET
def form_detail(request: SignedInRequest, key: str) -> HttpResponse:
    """Show a form: what it looks like, where it stands now, what became of it, and how it is mended."""
    form = FORMS_BY_KEY.get(key)
    if form is None:
        raise Http404(f"No rule tells a form {key} apart.")
    seen = repositories_seen_by(request.user)
    facts = field_facts(repositories=seen, form=form.key)
    code = snippets_of(states=facts.places[:CODE_SHOWN])
    context = {
        "form": form,
        "rules": [rule_get(rule_id=rule_id) for rule_id in form.rules],
        "clauses": dict.fromkeys(c for rule_id in form.rules for c in clauses_of_rule(rule_id=rule_id)),
        "facts": facts,
        "precision": field_precision(repositories=seen, form=form.key),
        "judged_query": f"form={form.key}",
        "frames": [
            (state, frame_of_snippet(code[state.site_id], first_line=state.start_line))
            for state in facts.places[:CODE_SHOWN]
            if state.site_id in code
        ],
        "afters": [
            (outcome, after, frame_of_example(after.rust, flagged=()))
            for outcome in form.after
            for after in [after_shape(outcome)]
        ],
    }
    return render(request, "form_detail.html", context)

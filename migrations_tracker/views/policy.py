"""The policy: its clauses, and what rests on each."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audit.knowledge.links import LinkKind
from audit.policy.clauses import CURRENT_VERSION, ClauseKind
from audit.selectors.audit_notes import entries_about
from audit.selectors.policy import clause_find, clause_in_version, clauses_by_kind, policy_current
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors import overview
from migrations_tracker.selectors.clause_rests import plan_rests, sentences_resting
from migrations_tracker.selectors.policy_pages import policies_of_repositories, precedents_of_clause
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.source_frames import frame_of_example

KIND_TEXTS = {
    ClauseKind.MANDATORY: ("Mandatory", "What GPU code has to do."),
    ClauseKind.FORBIDDEN: ("Forbidden", "What GPU code must not do; a rule looks for each."),
    ClauseKind.ALLOWED: ("Allowed", "What looks like a fallback and is none."),
    ClauseKind.VERIFICATION: ("Verification", "What counts as proof."),
    ClauseKind.VOCABULARY: ("Vocabulary", "What may be said, and what it needs."),
    ClauseKind.SEQUENCING: ("Sequencing", "What comes first."),
}


@login_required
@require_GET
def policy_index(request: SignedInRequest) -> HttpResponse:
    """List the clauses by kind, with the open sites of the rules that rest on each."""
    counts = overview.open_counts_by_rule(repositories=repositories_seen_by(request.user))
    kinds = [
        (*KIND_TEXTS[kind], [(page, sum(counts[rule.id] for rule in page.rules)) for page in pages])
        for kind, pages in clauses_by_kind()
    ]
    own = policies_of_repositories(repositories=repositories_seen_by(request.user))
    return render(request, "policy_index.html", {"policy": policy_current(), "kinds": kinds, "own": own})


@login_required
@require_GET
def clause_detail(request: SignedInRequest, key: str) -> HttpResponse:
    """Show a clause, as it stands or stood in a version: text, reason, both shapes, and what rests on it."""
    version = request.GET.get("version", "") or CURRENT_VERSION
    page = clause_find(clause_id=key)
    clause = clause_in_version(clause_id=key, version=version)
    if clause is None:
        raise Http404(f"The policy has no clause {key} in version {version}.")
    rules = page.rules if page is not None else ()
    seen = repositories_seen_by(request.user)
    counts = overview.open_counts_by_rule(repositories=seen)
    precedent_count, precedents = precedents_of_clause(clause_id=clause.id, repositories=seen)
    context = {
        "version": version,
        "version_today": CURRENT_VERSION,
        "today": page.clause if page is not None else None,
        "page": page,
        "clause": clause,
        "kind": KIND_TEXTS[clause.kind][0],
        "right": frame_of_example(clause.right, flagged=()) if clause.right else None,
        "wrong": frame_of_example(clause.wrong, flagged=()) if clause.wrong else None,
        "entries": entries_about(kind=LinkKind.CLAUSE, target=clause.id, repositories=seen),
        "precedent_count": precedent_count,
        "precedents": precedents,
        "plan": plan_rests(clause_id=clause.id),
        "sentences": sentences_resting(clause_id=clause.id),
        "rules": [(rule, counts[rule.id]) for rule in rules],
        "open_total": sum(counts[rule.id] for rule in rules),
    }
    return render(request, "clause_detail.html", context)

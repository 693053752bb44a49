"""The clauses that a repository adds to the policy: showing, writing and taking out."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from audit.errors import AuditError
from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import Clause
from audit.policy.forms import FORMS_BY_KEY
from audit.policy.merging import Merged, merge
from audit.rules import RULES
from audit.selectors.audit_notes import entries_about_clause
from audit.selectors.repository_policies import policy_newest, version_of_row
from audit.selectors.rules import rule_get
from audit.services.repository_policies import policy_clause_drop, policy_clause_publish
from migrations_tracker.http import SignedInRequest
from migrations_tracker.policy_forms import OwnClauseForm, values_as_texts, values_of, values_typed
from migrations_tracker.selectors.policy_conflicts import clause_in, published_since
from migrations_tracker.selectors.policy_pages import (
    OwnClausePage,
    clause_of_repository,
    precedents_of_clause,
)
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.source_frames import frame_of_example

UNPROCESSABLE = 422
MAY_PUBLISH = "audit.add_repositorypolicy"
_MAX_DIGITS = 9
RULE_IDS = frozenset(rule.id for rule in RULES)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(MAY_PUBLISH, raise_exception=True)
def clause_add(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add a clause."""
    return _written(request, get_object_or_404(Repository, slug=slug), None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(MAY_PUBLISH, raise_exception=True)
def clause_edit(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Change a clause, or take it out of the policy."""
    repository = get_object_or_404(Repository, slug=slug)
    found = clause_of_repository(repository=repository, clause_id=key.upper())
    if found is not None and found.is_in_force:
        return _written(request, repository, found)
    if found is None or request.method != "POST":
        raise Http404(f"The policy in force of {repository.name} has no clause {key}.")
    return _taken_out(request, repository, found.clause)


@login_required
@require_GET
def clause_page(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show a clause that a repository added, as it stands or stood in a version, and what rests on it."""
    repository = get_object_or_404(Repository, slug=slug)
    number = version_asked(request)
    page = clause_of_repository(repository=repository, clause_id=key.upper(), number=number)
    if page is None:
        where = "" if number is None else f" in version {number} of its policy"
        raise Http404(f"{repository.name} has no clause {key}{where}.")
    clause = page.clause
    count, rulings = precedents_of_clause(
        clause_id=clause.id, repositories=Repository.objects.filter(pk=repository.pk)
    )
    context = {
        "repository": repository,
        "clause": clause,
        "page": page,
        "right": frame_of_example(clause.right, flagged=()) if clause.right else None,
        "wrong": frame_of_example(clause.wrong, flagged=()) if clause.wrong else None,
        "rules": [rule_get(rule_id=rule_id) for rule_id in clause.rules],
        "forms": [FORMS_BY_KEY[form] for form in clause.forms if form in FORMS_BY_KEY],
        "entries": entries_about_clause(
            repository=repository,
            clause_id=clause.id,
            repositories=repositories_seen_by(request.user),
        ),
        "precedent_count": count,
        "precedents": rulings,
    }
    return render(request, "repository_clause.html", context)


def _written(request: SignedInRequest, repository: Repository, page: OwnClausePage | None) -> HttpResponse:
    clause = page.clause if page is not None else None
    if request.method != "POST":
        # The version that the clause was read from: a newer one would be overwritten unseen.
        newest = page.newest if page is not None else policy_newest(repository=repository)
        based_on = newest.number if newest is not None else 0
        values = {**(values_of(clause) if clause is not None else {}), "based_on": based_on}
        return _clause_form(request, repository, clause, OwnClauseForm(initial=values))
    if request.POST.get("do") == "drop" and clause is not None:
        return _dropped(request, repository, clause)
    form = OwnClauseForm(request.POST)
    if not form.is_valid():
        return _clause_again(request, repository, clause, "")
    data = form.cleaned_data
    try:
        policy = policy_clause_publish(
            repository=repository,
            clause_id=clause.id if clause is not None else "",
            parts={**data, "forms": data["form_keys"].split()},
            reason=data["why"],
            actor=request.user,
            based_on=data["based_on"],
        )
    except AuditError as error:
        return _clause_again(request, repository, clause, str(error))
    return published(request, policy)


def _dropped(request: SignedInRequest, repository: Repository, clause: Clause) -> HttpResponse:
    try:
        policy = policy_clause_drop(
            repository=repository,
            clause_id=clause.id,
            reason=request.POST.get("why", ""),
            actor=request.user,
            based_on=number_of(request.POST.get("based_on", "")),
        )
    except AuditError as error:
        return _clause_again(request, repository, clause, str(error))
    return published(request, policy)


def _clause_again(
    request: SignedInRequest, repository: Repository, clause: Clause | None, problem: str
) -> HttpResponse:
    """Show what was typed, upon what was published since the form was asked for.

    The form then goes on from the version that is in force now, which the person sees with it.
    """
    meanwhile = published_since(repository=repository, number=number_of(request.POST.get("based_on", "")))
    typed = values_typed(request.POST)
    merged = {key: Merged(value) for key, value in typed.items()}
    before = clause_in(meanwhile.base, clause_id=clause.id) if clause is not None else None
    now = clause_in(meanwhile.newest, clause_id=clause.id) if clause is not None else None
    if before is not None and now is not None:
        merged = merge(values_as_texts(before), values_as_texts(now), typed)
    values: dict[str, object] = {key: one.value for key, one in merged.items()}
    values |= {"rules": merged["rules"].value.split(), "why": request.POST.get("why", "")}
    form = OwnClauseForm({**values, "based_on": meanwhile.number})
    form.is_valid()
    if problem:
        form.add_error(None, problem)
    shown = {
        "meanwhile": meanwhile,
        "theirs": [(form[key].label, one) for key, one in merged.items() if one.theirs is not None],
    }
    return _clause_form(request, repository, clause, form, shown)


def _taken_out(request: SignedInRequest, repository: Repository, clause: Clause) -> HttpResponse:
    """Show what was typed to somebody whose clause was taken out of the policy meanwhile, as a new one."""
    meanwhile = published_since(repository=repository, number=number_of(request.POST.get("based_on", "")))
    values: dict[str, object] = {**values_typed(request.POST), "why": request.POST.get("why", "")}
    values["rules"] = str(values["rules"]).split()
    form = OwnClauseForm({**values, "based_on": meanwhile.number})
    form.is_valid()
    form.add_error(
        None, f"{clause.id} was taken out of the policy meanwhile. This adds what you wrote as a new clause."
    )
    return _clause_form(request, repository, None, form, {"meanwhile": meanwhile})


def _clause_form(
    request: SignedInRequest,
    repository: Repository,
    clause: Clause | None,
    form: OwnClauseForm,
    shown: Mapping[str, object] | None = None,
) -> HttpResponse:
    name = "repository-clause-edit" if clause is not None else "repository-clause-add"
    arguments = [repository.slug, clause.id] if clause is not None else [repository.slug]
    context = {
        "repository": repository,
        "clause": clause,
        "form": form,
        "action": reverse(name, args=arguments),
        "retired": sorted(set(clause.rules) - RULE_IDS) if clause is not None else [],
    }
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "repository_clause_edit.html", {**context, **(shown or {})}, status=status)


def version_asked(request: SignedInRequest) -> int | None:
    """Return the number of the version that the address names, None where it names none."""
    text = request.GET.get("version", "")
    number = number_of(text)
    if text and number < 0:
        raise Http404("A version is a number.")
    return number if text else None


def number_of(text: str) -> int:
    """Read the number of a version; -1 where there is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else -1


def published(request: SignedInRequest, policy: RepositoryPolicy) -> HttpResponse:
    """Say that a version was published, on the page of the policy."""
    version = version_of_row(policy, newest=policy)
    after = "The next scan is judged under it; what was judged before stays as it was."
    messages.success(request, f"Published as version {version}. {after}")
    return redirect("repository-policy", policy.repository.slug)

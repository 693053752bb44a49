"""A repository's own policy: clauses and levels in versions, and the comparison of any two editions."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from audit.errors import AuditError
from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import CURRENT_VERSION, Clause
from audit.policy.editions import compare_editions
from audit.policy.forms import FORMS_BY_KEY
from audit.rules import RULES
from audit.scanner.report import Level
from audit.selectors.rules import rule_get
from audit.services.repository_policies import (
    policy_clause_drop,
    policy_clause_publish,
    policy_levels_publish,
)
from migrations_tracker.http import SignedInRequest
from migrations_tracker.policy_forms import LevelsForm, OwnClauseForm, values_of
from migrations_tracker.selectors.policy_pages import (
    PolicyPage,
    clause_of_repository,
    edition_choices,
    edition_named,
    precedents_of_clause,
)
from migrations_tracker.selectors.policy_pages import (
    policy_page as page_of_policy,
)
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.source_frames import frame_of_example

UNPROCESSABLE = 422
MAY_PUBLISH = "audit.add_repositorypolicy"
LEVELS = tuple(level.value for level in reversed(Level))
_MAX_DIGITS = 9


@login_required
@require_GET
def policy_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the policy that a repository is held to, or was at the version that the address names."""
    return _policy(request, get_object_or_404(Repository, slug=slug))


@login_required
@require_GET
def policy_profile(request: SignedInRequest, slug: str) -> HttpResponse:
    """Give the levels of a version as a profile, to be kept in the repository for checks there."""
    page = _page_of(request, get_object_or_404(Repository, slug=slug))
    response = HttpResponse(page.profile_text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="ferroaudit-levels.toml"'
    return response


@login_required
@require_POST
@permission_required(MAY_PUBLISH, raise_exception=True)
def policy_levels(request: SignedInRequest, slug: str) -> HttpResponse:
    """Publish the levels of the rules."""
    repository = get_object_or_404(Repository, slug=slug)
    form = LevelsForm(request.POST)
    if not form.is_valid():
        return _policy(request, repository, problem="Say why: a version is kept with its reason.")
    levels = {rule.id: request.POST[rule.id] for rule in RULES if request.POST.get(rule.id)}
    try:
        policy = policy_levels_publish(
            repository=repository,
            levels=levels,
            reason=form.cleaned_data["why"],
            actor=request.user,
            based_on=form.cleaned_data["based_on"],
        )
    except AuditError as error:
        return _policy(request, repository, problem=str(error))
    return _published(request, policy)


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
    if found is None or not found.is_in_force:
        raise Http404(f"The policy in force of {repository.name} has no clause {key}.")
    return _written(request, repository, found.clause)


@login_required
@require_GET
def clause_page(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show a clause that a repository added, as it stands or stood in a version, and what rests on it."""
    repository = get_object_or_404(Repository, slug=slug)
    number = _version_asked(request)
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
        "precedent_count": count,
        "precedents": rulings,
    }
    return render(request, "repository_clause.html", context)


@login_required
@require_GET
def policy_compare(request: SignedInRequest) -> HttpResponse:
    """Compare two editions of the policy, clause by clause and level by level."""
    seen = repositories_seen_by(request.user)
    asked = [value for value in (request.GET.get("from", ""), request.GET.get("to", "")) if value]
    choices = edition_choices(repositories=seen, chosen=asked)
    newest_own = next((choice.value for choice in choices.listed if ":" in choice.value), CURRENT_VERSION)
    old_value = request.GET.get("from", "") or CURRENT_VERSION
    new_value = request.GET.get("to", "") or newest_own
    old = edition_named(value=old_value, repositories=seen)
    new = edition_named(value=new_value, repositories=seen)
    if old is None or new is None:
        raise Http404("There is no such edition of the policy.")
    difference = compare_editions(old, new)
    labels = {choice.value: choice.label for choice in choices.listed}
    context = {
        "choices": choices.listed,
        "choices_left_out": choices.left_out,
        "old_value": old_value,
        "new_value": new_value,
        "old_label": labels[old_value],
        "new_label": labels[new_value],
        "old_slug": old_value.rpartition(":")[0],
        "new_slug": new_value.rpartition(":")[0],
        "old_number": old.version.own,
        "new_number": new.version.own,
        "difference": difference,
        "levels": [(rule_get(rule_id=one.rule_id), one) for one in difference.levels],
    }
    return render(request, "policy_compare.html", context)


def _page_of(request: SignedInRequest, repository: Repository) -> PolicyPage:
    """Return the policy at the version that the address names, or the one in force."""
    number = _version_asked(request)
    page = page_of_policy(repository=repository, number=number)
    if page is None:
        raise Http404(f"The policy of {repository.name} has no version {number}.")
    return page


def _version_asked(request: SignedInRequest) -> int | None:
    """Return the number of the version that the address names, None where it names none."""
    text = request.GET.get("version", "")
    if text and (not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS):
        raise Http404("A version is a number.")
    return int(text) if text else None


def _policy(request: SignedInRequest, repository: Repository, problem: str = "") -> HttpResponse:
    page = _page_of(request, repository)
    shown = [
        (one.rule, one.given, (request.POST.get(one.rule.id, "") if problem else one.given) or one.rule.level)
        for one in page.rules
    ]
    context = {
        "repository": repository,
        "page": page,
        "rules": shown,
        "levels": LEVELS,
        "problem": problem,
        "why": request.POST.get("why", ""),
        "house_version": CURRENT_VERSION,
    }
    return render(request, "repository_policy.html", context, status=UNPROCESSABLE if problem else 200)


def _written(request: SignedInRequest, repository: Repository, clause: Clause | None) -> HttpResponse:
    page = page_of_policy(repository=repository, number=None)
    based_on = page.newest.number if page is not None and page.newest is not None else 0
    values = {**(values_of(clause) if clause is not None else {}), "based_on": based_on}
    if request.method != "POST":
        return _clause_form(request, repository, clause, OwnClauseForm(initial=values))
    is_drop = request.POST.get("do") == "drop" and clause is not None
    if is_drop and clause is not None:
        told = {"why": request.POST.get("why", ""), "based_on": request.POST.get("based_on", "")}
        return _dropped(request, repository, clause, OwnClauseForm({**values, **told}))
    form = OwnClauseForm(request.POST)
    if not form.is_valid():
        return _clause_form(request, repository, clause, form)
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
        form.add_error(None, str(error))
        return _clause_form(request, repository, clause, form)
    return _published(request, policy)


def _dropped(
    request: SignedInRequest, repository: Repository, clause: Clause, form: OwnClauseForm
) -> HttpResponse:
    text = request.POST.get("based_on", "")
    try:
        policy = policy_clause_drop(
            repository=repository,
            clause_id=clause.id,
            reason=request.POST.get("why", ""),
            actor=request.user,
            based_on=int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else -1,
        )
    except AuditError as error:
        form.is_valid()
        form.add_error(None, str(error))
        return _clause_form(request, repository, clause, form)
    return _published(request, policy)


def _clause_form(
    request: SignedInRequest, repository: Repository, clause: Clause | None, form: OwnClauseForm
) -> HttpResponse:
    context = {"repository": repository, "clause": clause, "form": form}
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "repository_clause_edit.html", context, status=status)


def _published(request: SignedInRequest, policy: RepositoryPolicy) -> HttpResponse:
    version = f"{policy.house_version}+{policy.number}"
    after = "The next scan is judged under it; what was judged before stays as it was."
    messages.success(request, f"Published as version {version}. {after}")
    return redirect("repository-policy", policy.repository.slug)

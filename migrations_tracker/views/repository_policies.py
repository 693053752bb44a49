"""A repository's own policy: its versions and levels, and the comparison of any two editions."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.models import Repository
from audit.policy.clauses import CURRENT_VERSION
from audit.policy.editions import compare_editions
from audit.policy.merging import Merged
from audit.rules import RULES
from audit.scanner.report import Level
from audit.selectors.rules import RulePage, rule_get
from audit.services.repository_policies import policy_levels_publish
from migrations_tracker.http import SignedInRequest
from migrations_tracker.policy_forms import LevelsForm
from migrations_tracker.selectors.policy_conflicts import levels_shown_again, published_since
from migrations_tracker.selectors.policy_pages import PolicyPage, edition_choices, edition_named
from migrations_tracker.selectors.policy_pages import (
    policy_page as page_of_policy,
)
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.views.own_clauses import (
    MAY_PUBLISH,
    UNPROCESSABLE,
    number_of,
    published,
    version_asked,
)

LEVELS = tuple(level.value for level in reversed(Level))


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
        return _levels_again(request, repository, "Say why: a version is kept with its reason.")
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
        return _levels_again(request, repository, str(error))
    return published(request, policy)


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
    number = version_asked(request)
    page = page_of_policy(repository=repository, number=number)
    if page is None:
        raise Http404(f"The policy of {repository.name} has no version {number}.")
    return page


def _policy(request: SignedInRequest, repository: Repository) -> HttpResponse:
    page = _page_of(request, repository)
    shown = [(one.rule, one.given, Merged(one.given or one.rule.level)) for one in page.rules]
    return render(request, "repository_policy.html", _context(repository, page, shown))


def _levels_again(request: SignedInRequest, repository: Repository, problem: str) -> HttpResponse:
    """Show the levels that were typed, upon what was published since the page was asked for.

    The form then goes on from the version that is in force now, which the person sees with it.
    """
    meanwhile = published_since(repository=repository, number=number_of(request.POST.get("based_on", "")))
    page = _page_of(request, repository)
    levels = levels_shown_again(
        meanwhile=meanwhile, typed={rule.id: request.POST.get(rule.id, "") for rule in RULES}
    )
    shown = [(one.rule, one.given, levels[one.rule.id]) for one in page.rules]
    context = _context(repository, page, shown)
    context |= {"problem": problem, "why": request.POST.get("why", ""), "meanwhile": meanwhile}
    # What the form shows was read with this version, and the page may know a newer one.
    context["based_on"] = meanwhile.number
    context["clashes"] = [(rule, one) for rule, _, one in shown if one.typed is not None]
    return render(request, "repository_policy.html", context, status=UNPROCESSABLE)


def _context(
    repository: Repository, page: PolicyPage, shown: Sequence[tuple[RulePage, Level | None, Merged]]
) -> dict[str, object]:
    return {
        "repository": repository,
        "page": page,
        "rules": shown,
        "based_on": page.newest.number if page.newest is not None else 0,
        "levels": LEVELS,
        "house_version": CURRENT_VERSION,
    }

"""Who has which role in a repository."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Membership
from migrations_tracker.roles import ROLE_TEXTS, Role
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.services.memberships import membership_set

UNPROCESSABLE = 422
PEOPLE_SHOWN = 500
_ROLES = {str(role.value): role for role in Role}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def repository_people(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the people of a repository, and give one a role or take it away."""
    repository = get_object_or_404(Repository, slug=slug)
    problem = ""
    if request.method == "POST":
        problem = _given(request, repository)
        if not problem:
            return redirect("repository-people", repository.slug)
    members = Membership.objects.filter(repository=repository) | Membership.objects.filter(repository=None)
    context = {
        "repository": repository,
        "members": members.select_related("user").order_by("user__username", "-role")[:PEOPLE_SHOWN],
        "roles": [(role.value, role.name.capitalize(), text) for role, text in ROLE_TEXTS.items()],
        "may_everywhere": standing_of(request.user).everywhere >= Role.ADMINISTRATOR,
        "typed": request.POST,
        "problem": problem,
    }
    return render(request, "repository_people.html", context, status=UNPROCESSABLE if problem else 200)


def _given(request: SignedInRequest, repository: Repository) -> str:
    """Do what the form says; return what is wrong with it, if anything."""
    name = request.POST.get("person", "").replace("\0", "").strip()
    role = _ROLES.get(request.POST.get("role", ""))
    person = User.objects.filter(username=name).first()
    if role is None:
        return "Choose a role."
    if person is None:
        return "Nobody here has that name."
    where = None if request.POST.get("everywhere") == "on" else repository
    try:
        membership_set(user=person, repository=where, role=role, actor=request.user)
    except PlanError as error:
        return str(error)
    place = "all repositories" if where is None else repository.name
    said = f"has no role in {place} now" if role is Role.NOBODY else f"is {role.name.lower()} in {place} now"
    messages.success(request, f"{person.get_username()} {said}.")
    return ""

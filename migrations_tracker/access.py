"""Holds every request to the table of roles, for pages and for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import ResolverMatch

from migrations_tracker.roles import OPERATIONS, PAGES, PERMISSIONS, Need, Owner, Role, Scope
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.standings import Standing, repository_of, standing_of, users_with_roles
from migrations_tracker.sign_in import ThrottledBackend

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_API = re.compile(r"^api/v1(?=/)")
_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")


class RoleBackend(ThrottledBackend):
    """Answers what a person may by the role in the repository that the request is about."""

    def get_user(self, user_id: int) -> User | None:
        """Return a person with the roles held."""
        user = users_with_roles().filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def has_perm(self, user_obj: User | AnonymousUser, perm: str, obj: Any = None) -> bool:
        """Whether the role suffices; permissions that no role gives are those of Django's admin."""
        needed = PERMISSIONS.get(perm)
        if needed is None:
            return super().has_perm(user_obj, perm, obj=obj)
        if not user_obj.is_active:
            return False
        here: Role | None = getattr(user_obj, "role_here", None)
        return (standing_of(user_obj).everywhere if here is None else here) >= needed


class RoleMiddleware:
    """Refuses what a person's role does not let them do, before the view is asked."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: Mapping[str, object]
    ) -> None:
        """Let a page's view be asked, or raise. Programs are held to the table once their token is known."""
        match = cast("ResolverMatch", request.resolver_match)
        if match.namespaces or (match.url_name or "").startswith("api-"):
            return
        # Whatever else the request shows, such as a token: who is logged in goes no further than their role.
        if request.user.is_authenticated:
            access_check(request, request.user)


def access_check(request: HttpRequest, user: User) -> None:
    """Raise `Http404` for what a person may not see, and `PermissionDenied` for what they may not do."""
    match = cast("ResolverMatch", request.resolver_match)
    need = need_of(match.route, match.url_name or "", request.method or "GET")
    if need is None:
        raise PermissionDenied("Nobody has said who may do this.")
    if need.scope not in (Scope.REPOSITORY, Scope.SYSTEM):
        return
    if need.owner is not None and need.owner.is_field and _holds_nul(request, need.owner.names):
        raise Http404("Nothing here has such a name.")
    standing = standing_of(user)
    needed = need.role_for(is_safe=request.method in SAFE)
    if needed is Role.NOBODY and request.method not in SAFE:
        return  # No such method here, which the view says.
    role = _role_for(need, needed, request, user, standing, match.kwargs)
    user.role_here = role  # type: ignore[attr-defined]
    if role < needed:
        if role is Role.NOBODY and need.scope is Scope.REPOSITORY:
            raise Http404("There is nothing here for you.")
        raise PermissionDenied(_sentence(needed, role, need.scope))


def need_of(route: str, name: str, method: str) -> Need | None:
    """Return what an address needs: a page by its name, an operation by its method and path."""
    if _API.match(route):
        path = _ARGUMENT.sub(r"{\1}", _API.sub("", route))
        return OPERATIONS.get(f"{'GET' if method in SAFE else method} {path}")
    return PAGES.get(name)


def _role_for(
    need: Need,
    needed: Role,
    request: HttpRequest,
    user: User,
    standing: Standing,
    arguments: Mapping[str, Any],
) -> Role:
    if need.scope is Scope.SYSTEM:
        return standing.highest if needed is Role.READER else standing.everywhere
    if standing.everywhere >= standing.highest:
        return standing.everywhere
    owner = cast("Owner", need.owner)
    named = _named(owner, request, arguments)
    if named == "" and owner.is_optional:
        return standing.highest  # The form asks for a repository where one may not go without.
    if named == "":
        chosen = branch_choose(repository="", branch="", user=user).repository
        return standing.role_in(chosen.pk) if chosen is not None else standing.everywhere
    is_there, repository_id = repository_of(owner, named)
    if is_there and repository_id is None:
        return standing.highest if needed is Role.READER else standing.everywhere
    return standing.role_in(repository_id) if is_there else Role.NOBODY


def _named(owner: Owner, request: HttpRequest, arguments: Mapping[str, Any]) -> object:
    if not owner.is_field:
        return arguments[owner.names]
    given = {str(values[owner.names]) for values in (request.POST, request.GET) if values.get(owner.names)}
    # The check and the view must mean the same one: two names are none.
    if len(given) > 1:
        return None
    return next(iter(given), "")


def _holds_nul(request: HttpRequest, field: str) -> bool:
    return any("\0" in one for values in (request.POST, request.GET) for one in values.getlist(field))


def _sentence(needed: Role, role: Role, scope: Scope) -> str:
    where = "in all repositories" if scope is Scope.SYSTEM else "in this repository"
    yours = f"yours is {role.name.lower()}" if role else "you have none"
    return f"This needs the role {needed.name.lower()} {where}; {yours}."

"""A person's own page: the tokens of their programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from migrations_tracker.errors import PlanError
from migrations_tracker.forms import TokenForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import ApiToken, TokenScope
from migrations_tracker.second_factor import OFF, has_second_factor
from migrations_tracker.services.api_tokens import api_token_create, api_token_revoke
from migrations_tracker.shown_once import secret_forget, secret_receive, secret_send

UNPROCESSABLE = 422
SESSIONS_SHOWN = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account_page(request: SignedInRequest) -> HttpResponseBase:
    """Show a person's tokens, and make one; its text is shown on the page that follows and never again."""
    if request.method != "POST":
        return _account(request, TokenForm(), made=secret_receive(request))
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            _, secret = _token_make(request.user, form.cleaned_data)
        except PlanError as error:
            form.add_error("name", str(error))
        else:
            return secret_send(request=request, page=reverse("account"), secret=secret)
    return _account(request, form, status=UNPROCESSABLE)


def _account(
    request: SignedInRequest, form: TokenForm, *, made: str = "", status: int = 200
) -> HttpResponseBase:
    context = {
        "form": form,
        "made": made,
        "tokens": ApiToken.objects.filter(owner=request.user, revoked_at=None),
        "sessions": UserSession.objects.filter(user=request.user).order_by("-created_at")[:SESSIONS_SHOWN],
        "offers_second_factor": settings.SECOND_FACTOR != OFF,
        "has_second_factor": has_second_factor(request.user),
    }
    response = render(request, "account.html", context, status=status)
    if made:
        secret_forget(response, page=request.path)
    return response


def _token_make(owner: User, data: Mapping[str, Any]) -> tuple[ApiToken, str]:
    days = data["days"]
    return api_token_create(
        owner=owner,
        name=data["name"],
        scope=TokenScope(data["scope"]),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )


@require_GET
def admin_log_in(request: HttpRequest) -> HttpResponse:
    """Send who is not logged in to the one page that logs people in; who is may not see the admin."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index"))


@login_required
@require_POST
def session_end(request: SignedInRequest, pk: int) -> HttpResponse:
    """End one of a person's own log-ins, on whichever machine it is."""
    session = get_object_or_404(UserSession, pk=pk, user=request.user)
    is_this = session.session_key == request.session.session_key
    session.end()
    if is_this:
        return redirect("login")
    messages.success(request, "That log-in has ended.")
    return redirect("account")


@login_required
@require_POST
def token_revoke(request: SignedInRequest, pk: int) -> HttpResponse:
    """Revoke one of a person's own tokens."""
    token = get_object_or_404(ApiToken, pk=pk, owner=request.user)
    if api_token_revoke(token=token):
        messages.success(request, f"The token “{token.name}” is revoked.")
    return redirect("account")

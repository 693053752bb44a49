"""Log-ins in more than one step: a second factor after the password."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.utils import perform_login
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import ResolverMatch

from migrations_tracker.roles import PAGES, Scope
from migrations_tracker.sign_in import address_of

OFF, OPTIONAL, REQUIRED = "off", "optional", "required"
_SEEN = "second-factor-seen"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody makes an account by themselves: people are added, or come from the provider."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return that it is not."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that failed log-ins are counted by, too."""
        return address_of(request) or "0.0.0.0"  # noqa: S104


class LogInView(LoginView):
    """Asks for name and password, and then for the second factor of who has one."""

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Go on with the log-in, which ends only with the last step."""
        answer = perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())
        return cast("HttpResponse", answer)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the name of the provider, if there is one."""
        provider = settings.OIDC_NAME if settings.OIDC_SERVER else ""
        return super().get_context_data(**kwargs) | {"provider": provider}


class SecondFactorMiddleware:
    """Where a second factor is required, lets nobody on without one; where none is offered, offers none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: Mapping[str, object]
    ) -> HttpResponseBase | None:
        """Send a person who needs a second factor to where it is set up."""
        match = cast("ResolverMatch", request.resolver_match)
        # Names in a namespace are others: those of Django's admin begin like the pages on the way.
        name = "" if match.namespaces else match.url_name or ""
        if settings.SECOND_FACTOR == OFF:
            if name == "mfa_activate_totp":
                raise Http404("No second factor is offered here.")
            return None
        if settings.SECOND_FACTOR != REQUIRED or not request.user.is_authenticated:
            return None
        if name == "mfa_deactivate_totp":
            request.session.pop(_SEEN, None)
        need = PAGES.get(name)
        is_on_the_way = name.startswith(("mfa_", "account_")) or (need and need.scope is Scope.PUBLIC)
        if is_on_the_way or request.session.get(_SEEN):
            return None
        if has_second_factor(request.user):
            request.session[_SEEN] = True
            return None
        return redirect("mfa_activate_totp")


def has_second_factor(user: User) -> bool:
    """Whether a person set an authenticator app up."""
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())

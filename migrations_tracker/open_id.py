"""Log-ins at a provider of OpenID Connect: what it says is held to the protocol before anybody is let in."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import DisallowedRedirect, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from requests import RequestException

#: As much as the protocol allows.
SUBJECT_AT_MOST = 255
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
_TEXTS = ("email", "preferred_username", "name", "given_name", "family_name", "iss", "nonce")
# What the library stumbles over where an answer is of another shape than it expects.
_MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


class OpenIdAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Reads the provider's answers, and takes none that is not what the protocol says."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return what the provider says of itself."""
        if not hasattr(self, "_checked_config"):
            with _refused_as_malformed("what the provider says of itself"):
                found = dict(super().openid_config)
                self._check_config(found)
            self._checked_config = found
        return self._checked_config

    def _check_config(self, found: dict[str, Any]) -> None:
        # Who is reached over TLS is not left for an address without.
        schemes = (
            ("https://",)
            if self.get_provider().server_url.startswith("https://")
            else ("https://", "http://")
        )
        for name in _ENDPOINTS:
            if not str(found[name]).startswith(schemes):
                raise ValueError(f"{name} is no address to go to")
        if not _is_text(found["issuer"]):
            raise ValueError("it has no issuer")
        found["token_endpoint_auth_methods_supported"] = [
            str(one) for one in found.get("token_endpoint_auth_methods_supported") or ()
        ]

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return what the provider gives for the code: a token that says who it is must be in it."""
        with _refused_as_malformed("what the provider gave for the code"):
            found = super().get_access_token_data(*args, **kwargs)
            if not (_is_text(found["access_token"]) and _is_text(found["id_token"])):
                raise ValueError("a token is missing")
            return {"access_token": found["access_token"], "id_token": found["id_token"]}

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """Return who logs in: the same one by the signed token and by what is asked for with it."""
        with _refused_as_malformed("what the provider says of the person"):
            id_token = _claims(self._decode_id_token(app, kwargs["response"]["id_token"]))
            userinfo = _claims(self._fetch_user_info(token.token))
            if id_token["sub"] != userinfo["sub"]:
                raise ValueError("the token is about somebody else")
            data = {"userinfo": userinfo, "id_token": id_token}
            return self.get_provider().sociallogin_from_response(request, data)


class OpenIdProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """Sends people to the provider with what only their browser can answer; addresses add nothing to it."""

    pkce_enabled_default = True
    oauth2_adapter_class = OpenIdAdapter

    def get_auth_params_from_request(self, request: HttpRequest, action: str) -> dict[str, Any]:
        """Return what the settings say: the library would let the address set any parameter anew."""
        return dict(self.get_auth_params())

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        """Return what the settings say."""
        return list(self.get_scope())

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **kwargs: Any
    ) -> HttpResponseBase:
        """Show the way to the provider, which a browser takes by itself, or say that it can't be reached.

        A browser that keeps to the pages' policy sends no form on to another site, nor by a redirection.
        """
        nonce = secrets.token_urlsafe(24)
        kwargs["auth_params"] = {**(kwargs.get("auth_params") or {}), "nonce": nonce}
        try:
            there = super().redirect(request, process, next_url, data, nonce=nonce, **kwargs)["Location"]
        except (OAuth2Error, RequestException, DisallowedRedirect) as error:
            refusal: HttpResponseBase = render_authentication_error(request, self, exception=error)
            return refusal
        answer = render(request, "provider_leave.html", {"address": there, "provider": self.name})
        add_never_cache_headers(answer)
        return answer


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """People of the provider may come in. Which repositories they see, an administrator says."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return whether a provider is set up."""
        return bool(settings.OIDC_SERVER)

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Any:
        """Return the provider, held to the protocol."""
        found = super().get_provider(request, provider, client_id=client_id)
        return OpenIdProvider(request, app=found.app)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Let nobody go on by a token of another log-in, nor with an address that is somebody else's."""
        _nonce_check(sociallogin)
        person = sociallogin.user
        if sociallogin.is_existing or not person.email:
            return
        # Anybody may say at a provider that an address is theirs. Messages go to it here, so they come in
        # without.
        others = User.objects.filter(email__iexact=person.email)
        if request.user.is_authenticated:
            others = others.exclude(pk=request.user.pk)
        if others.exists():
            sociallogin.email_addresses = []
            person.email = ""


def _nonce_check(login: SocialLogin) -> None:
    """Raise where the token was not made for this log-in of this browser."""
    sent = login.state.get("nonce")
    said = login.account.extra_data.get("id_token", {}).get("nonce")
    if not sent or not said or not secrets.compare_digest(sent.encode(), said.encode()):
        raise PermissionDenied("The provider's token belongs to another log-in.")


def log_in_return(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Let the person in whom the provider sent back."""
    try:
        view = OAuth2CallbackView.adapter_view(OpenIdAdapter(request, provider_id))
        answer: HttpResponseBase = view(request)
    except SocialApp.DoesNotExist as error:
        raise Http404 from error
    return answer


@contextmanager
def _refused_as_malformed(what: str) -> Iterator[None]:
    try:
        yield
    except _MALFORMED as error:
        # Errors of connections are such, too, and told apart by who asked.
        if isinstance(error, RequestException):
            raise
        raise OAuth2Error(f"Not understood, {what}: {error!r}") from error


def _claims(said: object) -> dict[str, Any]:
    """Return what is read of what the provider says of a person, and nothing of another type."""
    if not isinstance(said, Mapping):
        raise TypeError("it is no object")
    subject = said["sub"]
    if not _is_text(subject) or len(subject) > SUBJECT_AT_MOST or not subject.isprintable():
        raise ValueError("it names nobody")
    texts = {name: said[name] for name in _TEXTS if _is_text(said.get(name))}
    return {"sub": subject, **texts, "email_verified": said.get("email_verified") is True}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value

"""The addresses of a person's own: what concerns them, sessions, the second factor, and OpenID Connect."""

from __future__ import annotations

from allauth.account import views as account_views
from allauth.socialaccount.providers.openid_connect import urls as openid_connect
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

from migrations_tracker import open_id
from migrations_tracker.views import account, watching

_TO_LOG_IN = RedirectView.as_view(pattern_name="login", query_string=True)

urlpatterns = [
    path("inbox/", watching.inbox, name="inbox"),
    path("watched/", watching.watch_index, name="watch-list"),
    path("watched/settings/", watching.watch_settings, name="watch-settings"),
    path("sessions/<int:pk>/end/", account.session_end, name="session-end"),
    # What the library leads to by these names is ours.
    path("log-in/", _TO_LOG_IN, name="account_login"),
    path("sign-up/", _TO_LOG_IN, name="account_signup"),
    path("log-out/", LogoutView.as_view(), name="account_logout"),
    path("inactive/", account_views.account_inactive, name="account_inactive"),
    path("again/", account_views.reauthenticate, name="account_reauthenticate"),
    path("second-factor/", include("allauth.mfa.urls")),
    path("providers/", include("allauth.socialaccount.urls")),
    # Before the library's: the same address and name, and what comes back is held to the protocol.
    path("oidc/<str:provider_id>/login/callback/", open_id.log_in_return, name="openid_connect_callback"),
    path("", include(openid_connect)),
]

"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from migrations_tracker.api import capabilities as capabilities_api
from migrations_tracker.sign_in import LogInForm
from migrations_tracker.views import (
    account,
    capabilities,
    gaps,
    history,
    matches,
    notices,
    parity,
    policy,
    reports,
    repositories,
    rules,
    scans,
    sites,
)

urlpatterns = [
    path("", repositories.overview_page, name="overview"),
    path(
        "login/",
        LoginView.as_view(
            template_name="login.html", redirect_authenticated_user=True, authentication_form=LogInForm
        ),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account.account_page, name="account"),
    path("account/tokens/<int:pk>/revoke/", account.token_revoke, name="token-revoke"),
    path("notices/", notices.notice_index, name="notice-list"),
    path("notices/<int:pk>/stop/", notices.subscription_stop, name="subscription-stop"),
    path("notices/<int:pk>/again/", notices.delivery_resend, name="delivery-resend"),
    path("repositories/add/", repositories.repository_create, name="repository-add"),
    path("repositories/<slug:slug>/", repositories.repository_detail, name="repository-detail"),
    path("repositories/<slug:slug>/scan/", repositories.repository_scan, name="repository-scan"),
    path("repositories/<slug:slug>/follow/", repositories.repository_follow, name="repository-follow"),
    path("repositories/<slug:slug>/pushes/", repositories.repository_pushes, name="repository-pushes"),
    path("repositories/<slug:slug>/settings/", repositories.repository_settings, name="repository-settings"),
    path("scan-requests/<int:pk>/cancel/", scans.request_cancel, name="scan-request-cancel"),
    path("repositories/<slug:slug>/history/", history.branch_history, name="repository-history"),
    path("repositories/<slug:slug>/changes/", history.change_index, name="repository-changes"),
    path("scan-requests/<int:pk>/", scans.scan_request_detail, name="scan-request-detail"),
    path("scans/<int:pk>/", scans.scan_detail, name="scan-detail"),
    path("scans/<int:pk>/cancel/", scans.scan_cancel, name="scan-cancel"),
    path("scans/<int:pk>/again/", scans.scan_again, name="scan-again"),
    path("sites/", sites.site_index, name="site-list"),
    path("sites/<int:pk>/", sites.site_detail, name="site-detail"),
    path("sites/<int:pk>/timeline/", history.site_versions, name="site-timeline"),
    path("sites/<int:pk>/transition/", sites.site_transition, name="site-transition"),
    path("sites/<int:pk>/comment/", sites.site_comment, name="site-comment"),
    path("rules/", rules.rule_index, name="rule-list"),
    path("rules/<str:key>/", rules.rule_detail, name="rule-detail"),
    path("capabilities/", capabilities.capability_index, name="capability-list"),
    path("backend/", capabilities.backend_methods, name="capability-backend"),
    path("capabilities.<str:key>", capabilities.capability_export, name="capability-export"),
    path("capabilities/<slug:slug>/<str:key>/", capabilities.capability_detail, name="capability-detail"),
    path("operators/<slug:slug>/<str:key>/", capabilities.operator_detail, name="operator-detail"),
    path("gaps/", gaps.gap_index, name="gap-list"),
    path("gaps/<int:pk>/", gaps.gap_detail, name="gap-detail"),
    path("gaps/<int:pk>/transition/", gaps.gap_transition, name="gap-transition"),
    path("gaps/<int:pk>/assign/", gaps.gap_assign, name="gap-assign"),
    path("matches/", matches.match_index, name="match-list"),
    path("matches/<int:pk>/", matches.match_detail, name="match-detail"),
    path("matches/<int:pk>/ruling/", matches.match_ruling, name="match-ruling"),
    path("matches/<int:pk>/ruling/end/", matches.match_ruling_end, name="match-ruling-end"),
    path("parity/", parity.parity_changes, name="parity-changes"),
    path("api/capabilities", capabilities_api.capabilities, name="api-capabilities"),
    path("reports/", reports.report_index, name="report-list"),
    path("reports/ask/", reports.report_ask, name="report-ask"),
    path("reports/<int:pk>/", reports.report_detail, name="report-detail"),
    path("reports/<int:pk>/report.<str:key>", reports.report_file, name="report-file"),
    path("policy/", policy.policy_index, name="policy"),
    path("policy/<str:key>/", policy.clause_detail, name="clause-detail"),
    path("", include("migrations_tracker.machine_urls")),
    path("", include("migrations_tracker.program_urls")),
    # One page logs people in, and it counts who guesses.
    path("admin/login/", account.admin_log_in, name="admin-log-in"),
    path("admin/", admin.site.urls),
]

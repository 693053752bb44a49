"""The addresses of runners and verifications: pages for people, and what runners ask of the web app."""

from __future__ import annotations

from django.urls import path

from migrations_tracker.api import runners as runners_api
from migrations_tracker.api import verifications as verifications_api
from migrations_tracker.views import mechanical, runners, verifications

urlpatterns = [
    path("runners/", runners.runner_index, name="runner-list"),
    path("runners/add/", runners.runner_create, name="runner-add"),
    path("runners/<slug:name>/", runners.runner_detail, name="runner-detail"),
    path("runners/<slug:name>/act/", runners.runner_act, name="runner-act"),
    path("verifications/", verifications.verification_index, name="verification-list"),
    path("verifications/ask/", verifications.verification_ask, name="verification-ask"),
    path("verifications/nightly/", verifications.nightly, name="verification-nightly"),
    path("verifications/<int:pk>/", verifications.verification_detail, name="verification-detail"),
    path("verification-reports/", mechanical.report_index, name="verification-report-list"),
    path("verification-reports/ask/", mechanical.report_ask, name="verification-report-ask"),
    path("verification-reports/<int:pk>/", mechanical.report_detail, name="verification-report-detail"),
    path("verification-reports/<int:pk>.md", mechanical.report_markdown, name="verification-report-file"),
    path("api/verifications/<slug:slug>", verifications_api.last_words_of, name="api-verifications"),
    path("verification-jobs/<int:pk>/", verifications.job_detail, name="verification-job-detail"),
    path("verification-jobs/<int:pk>/act/", verifications.job_act, name="verification-job-act"),
    path("verification-requests/<int:pk>/", verifications.request_detail, name="verification-request-detail"),
    path("api/runner/register", runners_api.register, name="api-runner-register"),
    path("api/runner/heartbeat", runners_api.heartbeat, name="api-runner-heartbeat"),
    path("api/runner/jobs/<int:pk>/bundle", runners_api.job_bundle, name="api-runner-bundle"),
    path("api/runner/jobs/<int:pk>/source", runners_api.job_source, name="api-runner-source"),
    path("api/runner/jobs/<int:pk>/log", runners_api.job_log, name="api-runner-log"),
    path("api/runner/jobs/<int:pk>/outcome", runners_api.job_outcome, name="api-runner-outcome"),
]

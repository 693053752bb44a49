"""The addresses of runners and verifications: pages for people, and what runners ask of the web app."""

from __future__ import annotations

from django.urls import path

from migrations_tracker.api import runners as runners_api

urlpatterns = [
    path("api/runner/register", runners_api.register, name="api-runner-register"),
    path("api/runner/heartbeat", runners_api.heartbeat, name="api-runner-heartbeat"),
    path("api/runner/jobs/<int:pk>/bundle", runners_api.job_bundle, name="api-runner-bundle"),
    path("api/runner/jobs/<int:pk>/source", runners_api.job_source, name="api-runner-source"),
    path("api/runner/jobs/<int:pk>/log", runners_api.job_log, name="api-runner-log"),
    path("api/runner/jobs/<int:pk>/outcome", runners_api.job_outcome, name="api-runner-outcome"),
]

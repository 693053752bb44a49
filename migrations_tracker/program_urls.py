"""The addresses that programs ask: with a token, or signed."""

from __future__ import annotations

from django.urls import path

from migrations_tracker.api import scans as scans_api
from migrations_tracker.api.v1.app import api

urlpatterns = [
    path("api/v1/", api.urls),
    path("api/repositories", scans_api.repository_create, name="api-repository-create"),
    path("api/repositories/<slug:slug>/scans", scans_api.scan_create, name="api-scan-create"),
    path("api/repositories/<slug:slug>/push", scans_api.push, name="api-push"),
    path("api/scan-requests/<int:pk>", scans_api.scan_request_state, name="api-scan-request"),
    path("api/scans/<int:pk>", scans_api.scan_state, name="api-scan"),
]

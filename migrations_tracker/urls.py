"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from migrations_tracker.health import health

urlpatterns = [
    path("healthz", health, name="health"),
    path("admin/", admin.site.urls),
]

"""The facts in Django's admin: to look at, not to change."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit.models import Branch, Commit, Crate, FallbackSite, Repository, ScanRequest, ScanRun


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """Facts come from scans: nobody adds, changes or removes one by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "location", "default_branch")


@admin.register(ScanRun)
class ScanRunAdmin(ReadOnlyAdmin):
    list_display = ("id", "repository", "commit", "state", "result_count", "created_at")
    list_filter = ("state", "repository")
    list_select_related = ("repository", "commit")


@admin.register(ScanRequest)
class ScanRequestAdmin(ReadOnlyAdmin):
    list_display = ("id", "repository", "revision", "state", "created_at")


admin.site.register((Branch, Commit, Crate, FallbackSite), ReadOnlyAdmin)

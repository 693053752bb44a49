"""The plan in Django's admin: to look at; it is changed on the pages, where each step is kept."""

from __future__ import annotations

from django.contrib import admin

from audit.admin import ReadOnlyAdmin
from migrations_tracker.models import Comment, SiteMigration, Suppression, Transition


@admin.register(SiteMigration)
class SiteMigrationAdmin(ReadOnlyAdmin):
    list_display = ("site", "status", "assignee", "changed_at")
    list_filter = ("status",)


@admin.register(Transition)
class TransitionAdmin(ReadOnlyAdmin):
    list_display = ("site_migration", "from_status", "to_status", "cause", "actor", "created_at")
    list_filter = ("cause", "to_status")


admin.site.register((Comment, Suppression), ReadOnlyAdmin)

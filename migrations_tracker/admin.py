"""The plan in Django's admin: to look at; it is changed on the pages, where each step is kept."""

from __future__ import annotations

from django.apps import apps
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


class AccountEventAdmin(ReadOnlyAdmin):
    """What an account was before each change, and who changed it."""

    list_display = ("username", "pgh_label", "pgh_created_at", "is_active", "is_staff", "is_superuser")
    list_filter = ("pgh_label", "is_superuser")


admin.site.register((Comment, Suppression), ReadOnlyAdmin)
admin.site.register(apps.get_model("migrations_tracker", "AccountEvent"), AccountEventAdmin)

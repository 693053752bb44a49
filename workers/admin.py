"""The machinery in Django's admin: to look at; it is steered on the pages, where each act is kept."""

from __future__ import annotations

from django.contrib import admin

from audit.admin import ReadOnlyAdmin
from workers.models import MachineEvent, Runner, TestBundle, Verification, VerificationJob


@admin.register(Runner)
class RunnerAdmin(ReadOnlyAdmin):
    list_display = ("name", "state", "is_able", "last_seen_at")
    exclude = ("token_hash", "registration_hash", "broker_password_hash")


@admin.register(VerificationJob)
class VerificationJobAdmin(ReadOnlyAdmin):
    list_display = ("id", "repository", "subject", "state", "outcome_state", "runner", "created_at")
    list_filter = ("state", "kind")


@admin.register(Verification)
class VerificationAdmin(ReadOnlyAdmin):
    list_display = ("id", "test", "verdict", "passes_without_gpu", "created_at")
    list_filter = ("verdict",)


@admin.register(MachineEvent)
class MachineEventAdmin(ReadOnlyAdmin):
    list_display = ("act", "runner", "job", "actor", "created_at")
    list_filter = ("act",)


admin.site.register(TestBundle, ReadOnlyAdmin)

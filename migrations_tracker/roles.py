"""The roles, and which of them each page and each operation of the API needs: one table for both.

A role is held in one repository, or in all. Each role may what those before it may. Runners are no people:
they come with tokens of their own and reach the addresses of runners alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Role(IntEnum):
    """What a person is in a repository; each may what the ones before it may."""

    NOBODY = 0
    READER = 1
    ENGINEER = 2
    LEAD = 3
    ADMINISTRATOR = 4


ROLE_TEXTS: Mapping[Role, str] = {
    Role.READER: "Sees everything of the repository, and changes nothing.",
    Role.ENGINEER: "Moves sites and gaps on, comments, asks for scans, verifications and reports, "
    "and works on units.",
    Role.LEAD: "Plans, rules, changes many sites at once, imports audits, and writes what is known.",
    Role.ADMINISTRATOR: "Sets the repository up and says who has which role in it.",
}


class Scope(StrEnum):
    """Whose role it is that counts."""

    PUBLIC = "public"
    #: The person's own things: the view looks for no others.
    OWN = "own"
    #: A list: the view shows what belongs to the repositories in which the person has a role.
    LISTED = "listed"
    #: A thing of one repository.
    REPOSITORY = "repository"
    #: Of no repository: the role held in all of them counts, and to look any role will do.
    SYSTEM = "system"
    #: A runner, with its own token.
    RUNNER = "runner"
    #: A server of Git repositories, with a signature.
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Owner:
    """Where the repository of a thing stands: the model, the path to it, and what names the thing.

    `names` is the argument of the address, or, with `is_field`, the field of a form. With `is_optional`, it
    may be empty, and the view holds what is of no repository to the role in all of them.
    """

    model: str
    path: str
    names: str = "pk"
    column: str = "pk"
    is_field: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """The role to look and the role to change, and where the repository is found."""

    scope: Scope
    read: Role = Role.READER
    write: Role = Role.NOBODY
    owner: Owner | None = None

    def role_for(self, *, is_safe: bool) -> Role:
        """Return the role that a request needs."""
        return self.read if is_safe else self.write


_SLUG = Owner("audit.Repository", "pk", "slug", "slug")
_FIELD = Owner("audit.Repository", "pk", "repository", "slug", is_field=True)
_OPTIONAL_FIELD = Owner("audit.Repository", "pk", "repository", "slug", is_field=True, is_optional=True)
_BRANCH_FIELD = Owner("audit.Branch", "repository_id", "branch", is_field=True)
_SITE = Owner("audit.FallbackSite", "repository_id")
_ATTACHMENT = Owner("migrations_tracker.Attachment", "repository_id")
_GAP = Owner("audit.CapabilityGap", "repository_id")
_SCAN = Owner("audit.ScanRun", "repository_id")
_SCAN_REQUEST = Owner("audit.ScanRequest", "repository_id")
_PULL_REQUEST = Owner("audit.PullRequest", "repository_id")
_DROP = Owner("audit.HeldDrop", "branch_scan__branch__repository_id")
_LINEAGE = Owner("audit.Lineage", "site__repository_id")
_LINEAGE_RULING = Owner("audit.LineageRuling", "site__repository_id")
_MATCH = Owner("audit.OperationMatch", "repository_id")
_BULK = Owner("migrations_tracker.BulkChange", "branch__repository_id")
_REPORT = Owner("migrations_tracker.MigrationReport", "branch__repository_id")
_REPORT_SCHEDULE = Owner("migrations_tracker.ReportSchedule", "branch__repository_id")
_UNIT = Owner("migrations_tracker.WorkUnit", "plan__repository_id")
_SCHEDULE = Owner("migrations_tracker.Schedule", "plan__repository_id")
_PRECEDENCE = Owner("migrations_tracker.Precedence", "before__plan__repository_id")
_ABSENCE = Owner("migrations_tracker.Absence", "person__plan__repository_id")
_AUDIT = Owner("audit.ImportedAudit", "repository_id")
_FINDING = Owner("audit.ImportedFinding", "audit__repository_id")
_PRECEDENT = Owner("audit.Precedent", "repository_id")
_VERIFICATION = Owner("workers.Verification", "repository_id")
_JOB = Owner("workers.VerificationJob", "repository_id")
_WISH = Owner("workers.VerificationRequest", "repository_id")
_MECHANICAL = Owner("workers.MechanicalReport", "repository_id")
_SAVED_FILTER = Owner("migrations_tracker.SavedFilter", "repository_id")
_ENTRY = Owner("audit.KnowledgeEntry", "repository_id")

_PUBLIC = Need(Scope.PUBLIC, Role.NOBODY, Role.NOBODY)
_OWN = Need(Scope.OWN, Role.NOBODY, Role.NOBODY)
_LISTED = Need(Scope.LISTED, Role.NOBODY, Role.NOBODY)
_RUNNER = Need(Scope.RUNNER, Role.NOBODY, Role.NOBODY)
_SYSTEM = Need(Scope.SYSTEM)
_INSTALLATION = Need(Scope.SYSTEM, Role.ADMINISTRATOR, Role.ADMINISTRATOR)


def _see(owner: Owner) -> Need:
    return Need(Scope.REPOSITORY, owner=owner)


def _reader(owner: Owner) -> Need:
    return Need(Scope.REPOSITORY, Role.READER, Role.READER, owner)


def _engineer(owner: Owner) -> Need:
    return Need(Scope.REPOSITORY, Role.ENGINEER, Role.ENGINEER, owner)


def _lead(owner: Owner) -> Need:
    return Need(Scope.REPOSITORY, Role.LEAD, Role.LEAD, owner)


def _administrator(owner: Owner) -> Need:
    return Need(Scope.REPOSITORY, Role.ADMINISTRATOR, Role.ADMINISTRATOR, owner)


PAGES: Mapping[str, Need] = {
    "login": _PUBLIC,
    "logout": _PUBLIC,
    "admin-log-in": _PUBLIC,
    "theme": _PUBLIC,
    "parent": _PUBLIC,
    "overview": _LISTED,
    "account": _OWN,
    "token-revoke": _OWN,
    "session-end": _OWN,
    "account_login": _PUBLIC,
    "account_logout": _PUBLIC,
    "account_signup": _PUBLIC,
    "account_inactive": _PUBLIC,
    "account_reauthenticate": _OWN,
    "mfa_authenticate": _PUBLIC,
    "mfa_reauthenticate": _OWN,
    "mfa_index": _OWN,
    "mfa_activate_totp": _OWN,
    "mfa_deactivate_totp": _OWN,
    "mfa_view_recovery_codes": _OWN,
    "mfa_generate_recovery_codes": _OWN,
    "mfa_download_recovery_codes": _OWN,
    "socialaccount_login_cancelled": _PUBLIC,
    "socialaccount_login_error": _PUBLIC,
    "socialaccount_signup": _PUBLIC,
    "socialaccount_connections": _OWN,
    "openid_connect_login": _PUBLIC,
    "openid_connect_callback": _PUBLIC,
    "notice-list": _OWN,
    "inbox": _OWN,
    "watch-list": _OWN,
    "watch-settings": _OWN,
    "subscription-stop": _OWN,
    "delivery-resend": _OWN,
    "repository-add": _INSTALLATION,
    "repository-detail": _see(_SLUG),
    "repository-dashboard": _see(_SLUG),
    "repository-scan": _engineer(_SLUG),
    "repository-follow": _engineer(_SLUG),
    "repository-pushes": _administrator(_SLUG),
    "repository-settings": _administrator(_SLUG),
    "repository-people": _administrator(_SLUG),
    "repository-history": _see(_SLUG),
    "repository-changes": _see(_SLUG),
    "doubtful-links": _see(_SLUG),
    "pull-request-list": _see(_SLUG),
    "pull-request-detail": _see(_PULL_REQUEST),
    "held-drops": _see(_SLUG),
    "suppression-list": _see(_SLUG),
    "held-drop": _see(_DROP),
    "held-drop-rule": _lead(_DROP),
    "lineage-rule": _lead(_LINEAGE),
    "lineage-undo": _lead(_LINEAGE_RULING),
    "scan-request-detail": _see(_SCAN_REQUEST),
    "scan-request-cancel": _engineer(_SCAN_REQUEST),
    "scan-detail": _see(_SCAN),
    "scan-cancel": _engineer(_SCAN),
    "scan-again": _engineer(_SCAN),
    "site-list": _LISTED,
    "site-export": _LISTED,
    "filter-keep": _reader(_FIELD),
    "filter-drop": _reader(_SAVED_FILTER),
    "bulk-change-ask": _lead(_FIELD),
    "bulk-change-list": _LISTED,
    "bulk-change-detail": _see(_BULK),
    "bulk-change-undo": _lead(_BULK),
    "site-detail": _see(_SITE),
    "site-timeline": _see(_SITE),
    "attachment-file": _see(_ATTACHMENT),
    "attachment-remove": _lead(_ATTACHMENT),
    "site-watch": _reader(_SITE),
    "gap-watch": _reader(_GAP),
    "unit-watch": _reader(_UNIT),
    "site-transition": _engineer(_SITE),
    "site-suppression": _engineer(_SITE),
    "site-suppression-reject": _lead(_SITE),
    "site-comment": _engineer(_SITE),
    "site-assign": _engineer(_SITE),
    "site-due": _engineer(_SITE),
    "site-identity": _see(_SITE),
    "site-merge": _lead(_SITE),
    "site-ruling": _lead(_SITE),
    "rule-list": _LISTED,
    "rule-detail": _LISTED,
    "capability-list": _LISTED,
    "capability-backend": _LISTED,
    "capability-export": _LISTED,
    "capability-detail": _see(_SLUG),
    "operator-detail": _see(_SLUG),
    "gap-list": _LISTED,
    "gap-detail": _see(_GAP),
    "gap-transition": _engineer(_GAP),
    "gap-suppression": _engineer(_GAP),
    "gap-suppression-reject": _lead(_GAP),
    "gap-comment": _engineer(_GAP),
    "search": _LISTED,
    "form-list": _LISTED,
    "form-detail": _LISTED,
    "operator-anywhere": _LISTED,
    "gap-assign": _engineer(_GAP),
    "gap-due": _engineer(_GAP),
    "match-list": _LISTED,
    "match-detail": _see(_MATCH),
    "match-ruling": _lead(_MATCH),
    "match-ruling-end": _lead(_MATCH),
    "parity-changes": _LISTED,
    "report-list": _LISTED,
    "report-ask": _engineer(_BRANCH_FIELD),
    "report-schedule-list": _LISTED,
    "report-schedule-add": _lead(_BRANCH_FIELD),
    "report-schedule-end": _lead(_REPORT_SCHEDULE),
    "report-detail": _see(_REPORT),
    "report-file": _see(_REPORT),
    "plan-list": _LISTED,
    "plan-board": _see(_SLUG),
    "plan-units": _see(_SLUG),
    "plan-missing": _see(_SLUG),
    "plan-people": Need(Scope.REPOSITORY, write=Role.LEAD, owner=_SLUG),
    "plan-person": _see(_SLUG),
    "plan-export": _see(_SLUG),
    "plan-renew": _lead(_SLUG),
    "plan-unit-add": _lead(_SLUG),
    "plan-settings": _lead(_SLUG),
    "absence-create": _lead(_SLUG),
    "absence-delete": _lead(_ABSENCE),
    "schedule-list": _see(_SLUG),
    "schedule-ask": _lead(_SLUG),
    "schedule-detail": _see(_SCHEDULE),
    "schedule-pin": _lead(_SCHEDULE),
    "schedule-baseline": _lead(_SCHEDULE),
    "unit-detail": _see(_UNIT),
    "unit-issue": _see(_UNIT),
    "unit-rename": _lead(_UNIT),
    "unit-deadline": _lead(_UNIT),
    "unit-hours": _lead(_UNIT),
    "unit-split": _lead(_UNIT),
    "unit-move": _lead(_UNIT),
    "unit-merge": _lead(_UNIT),
    "unit-wait": _lead(_UNIT),
    "unit-spent": _engineer(_UNIT),
    "unit-confirm": _engineer(_UNIT),
    "unit-start": _engineer(_UNIT),
    "unit-finish": _engineer(_UNIT),
    "precedence-cut": _lead(_PRECEDENCE),
    "precedence-restore": _lead(_PRECEDENCE),
    "policy": _LISTED,
    "clause-detail": _LISTED,
    "policy-compare": _LISTED,
    "repository-policy": _see(_SLUG),
    "repository-policy-levels": _lead(_SLUG),
    "repository-policy-profile": _see(_SLUG),
    "repository-clause": _see(_SLUG),
    "repository-clause-add": _lead(_SLUG),
    "repository-clause-edit": _lead(_SLUG),
    "imported-audit-list": _LISTED,
    "imported-audit-add": _lead(_FIELD),
    "imported-audit-detail": _see(_AUDIT),
    "imported-audit-match": _lead(_AUDIT),
    "imported-finding-detail": _see(_FINDING),
    "imported-finding-judge": _lead(_FINDING),
    "imported-finding-link": _lead(_FINDING),
    "crate-detail": _see(_SLUG),
    "audit-note-add": _engineer(_SLUG),
    "entry-list": _LISTED,
    "entry-add": _lead(_OPTIONAL_FIELD),
    "entry-detail": _see(_ENTRY),
    "entry-history": _see(_ENTRY),
    "entry-edit": _lead(_ENTRY),
    "entry-restore": _lead(_ENTRY),
    "precedent-list": _LISTED,
    "precedent-contradictions": _LISTED,
    "label-export": _see(_SLUG),
    "precedent-detail": _see(_PRECEDENT),
    "precedent-opinion": _lead(_PRECEDENT),
    "reference-detail": _see(_SLUG),
    "runner-list": _SYSTEM,
    "runner-detail": _SYSTEM,
    "runner-add": _INSTALLATION,
    "runner-act": _INSTALLATION,
    "verification-list": _LISTED,
    "verification-ask": _engineer(_FIELD),
    "verification-nightly": Need(Scope.REPOSITORY, write=Role.ADMINISTRATOR, owner=_FIELD),
    "verification-detail": _see(_VERIFICATION),
    "verification-report-list": _LISTED,
    "verification-report-ask": _engineer(_FIELD),
    "verification-report-detail": _see(_MECHANICAL),
    "verification-report-file": _see(_MECHANICAL),
    "verification-job-detail": _see(_JOB),
    "verification-job-act": _engineer(_JOB),
    "verification-request-detail": _see(_WISH),
    "api-capabilities": _LISTED,
    "api-search": _LISTED,
    "api-verifications": _see(_SLUG),
    "api-repository-create": _INSTALLATION,
    "api-scan-create": _engineer(_SLUG),
    "api-push": Need(Scope.SIGNED, Role.NOBODY, Role.NOBODY),
    "api-scan-request": _see(_SCAN_REQUEST),
    "api-scan": _see(_SCAN),
    "api-runner-register": _RUNNER,
    "api-runner-heartbeat": _RUNNER,
    "api-runner-bundle": _RUNNER,
    "api-runner-source": _RUNNER,
    "api-runner-log": _RUNNER,
    "api-runner-outcome": _RUNNER,
}

#: By method and path, as in the description of the API.
OPERATIONS: Mapping[str, Need] = {
    "GET /openapi.json": _PUBLIC,
    "GET /": _PUBLIC,
    "GET /repositories": _LISTED,
    "POST /repositories": _INSTALLATION,
    "GET /repositories/{slug}": _see(_SLUG),
    "GET /repositories/{slug}/policy": _see(_SLUG),
    "PUT /repositories/{slug}/policy/levels": _lead(_SLUG),
    "POST /repositories/{slug}/policy/clauses": _lead(_SLUG),
    "PUT /repositories/{slug}/policy/clauses/{key}": _lead(_SLUG),
    "POST /repositories/{slug}/policy/clauses/{key}/drop": _lead(_SLUG),
    "GET /repositories/{slug}/scans": _see(_SLUG),
    "POST /repositories/{slug}/scans": _engineer(_SLUG),
    "GET /repositories/{slug}/pull-requests": _see(_SLUG),
    "GET /repositories/{slug}/pull-requests/{number}": _see(_SLUG),
    "PUT /repositories/{slug}/pull-requests/{number}": _engineer(_SLUG),
    "GET /scan-requests/{pk}": _see(_SCAN_REQUEST),
    "GET /scans/{pk}": _see(_SCAN),
    "POST /scans/{pk}/cancel": _engineer(_SCAN),
    "POST /scans/{pk}/again": _engineer(_SCAN),
    "POST /scan-requests/{pk}/cancel": _engineer(_SCAN_REQUEST),
    "GET /repositories/{slug}/roles": _administrator(_SLUG),
    "PUT /repositories/{slug}/roles/{name}": _administrator(_SLUG),
    "DELETE /repositories/{slug}/roles/{name}": _administrator(_SLUG),
    "GET /repositories/{slug}/filters": _see(_SLUG),
    "POST /repositories/{slug}/filters": _reader(_SLUG),
    "DELETE /filters/{pk}": _reader(_SAVED_FILTER),
    "GET /repositories/{slug}/sites": _see(_SLUG),
    "POST /repositories/{slug}/sarif": _lead(_SLUG),
    "GET /sites/{pk}": _see(_SITE),
    "POST /sites/{pk}/transitions": _engineer(_SITE),
    "POST /sites/{pk}/suppression": _engineer(_SITE),
    "DELETE /sites/{pk}/suppression": _engineer(_SITE),
    "POST /sites/{pk}/suppression/reject": _lead(_SITE),
    "GET /repositories/{slug}/suppressions": _see(_SLUG),
    "PUT /sites/{pk}/assignee": _engineer(_SITE),
    "PUT /sites/{pk}/due": _engineer(_SITE),
    "POST /sites/{pk}/comments": _engineer(_SITE),
    "POST /sites/{pk}/attachments": _engineer(_SITE),
    "GET /attachments/{pk}": _see(_ATTACHMENT),
    "DELETE /attachments/{pk}": _lead(_ATTACHMENT),
    "PUT /sites/{pk}/watch": _reader(_SITE),
    "DELETE /sites/{pk}/watch": _reader(_SITE),
    "PUT /gaps/{pk}/watch": _reader(_GAP),
    "DELETE /gaps/{pk}/watch": _reader(_GAP),
    "PUT /units/{pk}/watch": _reader(_UNIT),
    "DELETE /units/{pk}/watch": _reader(_UNIT),
    "GET /watches": _OWN,
    "GET /inbox": _OWN,
    "GET /repositories/{slug}/gaps": _see(_SLUG),
    "GET /gaps/{pk}": _see(_GAP),
    "POST /gaps/{pk}/transitions": _engineer(_GAP),
    "POST /gaps/{pk}/suppression": _engineer(_GAP),
    "DELETE /gaps/{pk}/suppression": _engineer(_GAP),
    "POST /gaps/{pk}/suppression/reject": _lead(_GAP),
    "PUT /gaps/{pk}/assignee": _engineer(_GAP),
    "PUT /gaps/{pk}/due": _engineer(_GAP),
    "POST /gaps/{pk}/comments": _engineer(_GAP),
    "POST /gaps/{pk}/attachments": _engineer(_GAP),
    "POST /repositories/{slug}/bulk-changes": _lead(_SLUG),
    "GET /bulk-changes/{pk}": _see(_BULK),
    "POST /bulk-changes/{pk}/undo": _lead(_BULK),
    "POST /repositories/{slug}/plan": _lead(_SLUG),
    "GET /repositories/{slug}/people": _see(_SLUG),
    "PUT /repositories/{slug}/people/{name}": _lead(_SLUG),
    "POST /repositories/{slug}/schedules": _lead(_SLUG),
    "GET /schedules/{pk}": _see(_SCHEDULE),
    "GET /repositories/{slug}/units": _see(_SLUG),
    "GET /repositories/{slug}/next-units": _see(_SLUG),
    "GET /units/{pk}": _see(_UNIT),
    "POST /units/{pk}/start": _engineer(_UNIT),
    "PUT /units/{pk}/title": _lead(_UNIT),
    "PUT /units/{pk}/deadline": _lead(_UNIT),
    "PUT /units/{pk}/spent": _engineer(_UNIT),
    "POST /units/{pk}/finish": _engineer(_UNIT),
    "GET /repositories/{slug}/reports": _see(_SLUG),
    "POST /repositories/{slug}/reports": _engineer(_SLUG),
    "GET /repositories/{slug}/report-schedules": _see(_SLUG),
    "POST /repositories/{slug}/report-schedules": _lead(_SLUG),
    "DELETE /report-schedules/{pk}": _lead(_REPORT_SCHEDULE),
    "GET /reports/{pk}": _see(_REPORT),
    "GET /reports/{pk}/files/{key}": _see(_REPORT),
    "POST /repositories/{slug}/verifications": _engineer(_SLUG),
    "GET /verification-requests/{pk}": _see(_WISH),
    "GET /sites/{pk}/proofs": _see(_SITE),
    "GET /repositories/{slug}/labels": _see(_SLUG),
    "GET /rules": _LISTED,
    "GET /rules/{key}": _LISTED,
    "GET /clauses": _LISTED,
    "GET /clauses/{key}": _LISTED,
}

#: What templates and views ask for as permissions: the role in the repository that a page is about.
PERMISSIONS: Mapping[str, Role] = {
    "audit.add_repository": Role.ADMINISTRATOR,
    "audit.change_repository": Role.ADMINISTRATOR,
    "audit.change_helddrop": Role.LEAD,
    "audit.add_auditnote": Role.ENGINEER,
    "audit.add_lineageruling": Role.LEAD,
    "audit.add_matchruling": Role.LEAD,
    "audit.add_importedaudit": Role.LEAD,
    "audit.change_importedaudit": Role.LEAD,
    "audit.change_importedfinding": Role.LEAD,
    "audit.change_knowledgeentry": Role.LEAD,
    "audit.add_precedent": Role.LEAD,
    "audit.add_repositorypolicy": Role.LEAD,
    "audit.add_precedentopinion": Role.LEAD,
    "migrations_tracker.add_bulkchange": Role.LEAD,
    "migrations_tracker.change_workunit": Role.LEAD,
    "migrations_tracker.work_on_unit": Role.ENGINEER,
    "migrations_tracker.add_transition": Role.ENGINEER,
    "migrations_tracker.delete_attachment": Role.LEAD,
    "workers.add_runner": Role.ADMINISTRATOR,
    "workers.change_runner": Role.ADMINISTRATOR,
    "workers.change_verificationjob": Role.LEAD,
}

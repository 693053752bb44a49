"""Which operation does what a page does, and what a page alone does, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_SHOWN_ONCE = "It shows a secret once, to the person who is to keep it."
_SET_UP = "Set up once, by a person who sees what it means for the running installation."
_COMPOSED = "Planning is composed by a person who sees the units beside each other; programs read the plan."
_JUDGED = "A person judges code that the page shows; a program has nothing to judge by."
_WRITTEN = "Written by people in a form that keeps what they typed, with a preview."
_OWN = "It is about a person's own log-in."

#: By the name of a page's address.
OPERATION_OF: Mapping[str, str] = {
    "repository-add": "POST /repositories",
    "repository-scan": "POST /repositories/{slug}/scans",
    "repository-follow": "POST /repositories/{slug}/scans",
    "repository-people": "PUT /repositories/{slug}/roles/{name}",
    "scan-cancel": "POST /scans/{pk}/cancel",
    "scan-again": "POST /scans/{pk}/again",
    "scan-request-cancel": "POST /scan-requests/{pk}/cancel",
    "filter-keep": "POST /repositories/{slug}/filters",
    "filter-drop": "DELETE /filters/{pk}",
    "site-transition": "POST /sites/{pk}/transitions",
    "site-suppression": "POST /sites/{pk}/suppression",
    "site-suppression-reject": "POST /sites/{pk}/suppression/reject",
    "gap-suppression": "POST /gaps/{pk}/suppression",
    "gap-suppression-reject": "POST /gaps/{pk}/suppression/reject",
    "site-assign": "PUT /sites/{pk}/assignee",
    "site-due": "PUT /sites/{pk}/due",
    "site-comment": "POST /sites/{pk}/comments",
    "site-watch": "PUT /sites/{pk}/watch",
    "attachment-remove": "DELETE /attachments/{pk}",
    "gap-transition": "POST /gaps/{pk}/transitions",
    "gap-assign": "PUT /gaps/{pk}/assignee",
    "gap-due": "PUT /gaps/{pk}/due",
    "gap-comment": "POST /gaps/{pk}/comments",
    "gap-watch": "PUT /gaps/{pk}/watch",
    "report-ask": "POST /repositories/{slug}/reports",
    "report-schedule-add": "POST /repositories/{slug}/report-schedules",
    "report-schedule-end": "DELETE /report-schedules/{pk}",
    "bulk-change-ask": "POST /repositories/{slug}/bulk-changes",
    "bulk-change-undo": "POST /bulk-changes/{pk}/undo",
    "plan-renew": "POST /repositories/{slug}/plan",
    "plan-people": "PUT /repositories/{slug}/people/{name}",
    "schedule-ask": "POST /repositories/{slug}/schedules",
    "unit-start": "POST /units/{pk}/start",
    "unit-finish": "POST /units/{pk}/finish",
    "unit-spent": "PUT /units/{pk}/spent",
    "unit-rename": "PUT /units/{pk}/title",
    "unit-deadline": "PUT /units/{pk}/deadline",
    "unit-watch": "PUT /units/{pk}/watch",
    "repository-policy-levels": "PUT /repositories/{slug}/policy/levels",
    "repository-clause-add": "POST /repositories/{slug}/policy/clauses",
    "repository-clause-edit": "PUT /repositories/{slug}/policy/clauses/{key}",
    "imported-audit-add": "POST /repositories/{slug}/sarif",
    "verification-ask": "POST /repositories/{slug}/verifications",
}

#: By the name of a page's address: why no operation does it.
PAGE_ALONE: Mapping[str, str] = {
    "repository-pushes": _SHOWN_ONCE,
    "runner-add": _SHOWN_ONCE,
    "runner-act": _SET_UP,
    "repository-settings": _SET_UP,
    "verification-nightly": _SET_UP,
    "plan-settings": _SET_UP,
    "held-drop-rule": _JUDGED,
    "lineage-rule": _JUDGED,
    "lineage-undo": _JUDGED,
    "site-merge": _JUDGED,
    "site-ruling": _JUDGED,
    "match-ruling": _JUDGED,
    "match-ruling-end": _JUDGED,
    "imported-audit-match": "A scan of the commit does it by itself.",
    "imported-finding-judge": _JUDGED,
    "imported-finding-link": _JUDGED,
    "precedent-opinion": _JUDGED,
    "plan-unit-add": _COMPOSED,
    "absence-create": _COMPOSED,
    "absence-delete": _COMPOSED,
    "schedule-pin": _COMPOSED,
    "schedule-baseline": _COMPOSED,
    "unit-hours": _COMPOSED,
    "unit-split": _COMPOSED,
    "unit-move": _COMPOSED,
    "unit-merge": _COMPOSED,
    "unit-wait": _COMPOSED,
    "unit-confirm": "A person confirms the plan of the work before it begins: the policy asks for one.",
    "precedence-cut": _COMPOSED,
    "precedence-restore": _COMPOSED,
    "audit-note-add": _WRITTEN,
    "entry-add": _WRITTEN,
    "entry-edit": _WRITTEN,
    "entry-restore": _WRITTEN,
    "verification-report-ask": "It is written for a person who reads it; its facts are the proofs of a site.",
    "verification-job-act": "Code of a fork runs on a machine only after a person looked at it.",
    "watch-settings": _OWN,
    "subscription-stop": _OWN,
    "delivery-resend": _OWN,
    "token-revoke": _OWN,
    "session-end": _OWN,
}

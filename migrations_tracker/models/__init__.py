"""The plan in the database."""

from __future__ import annotations

from migrations_tracker.models.access import Account, ApiAnswer, ApiToken, LoginFailure, TokenScope
from migrations_tracker.models.attachment import Attachment
from migrations_tracker.models.bulk import BulkChange, BulkChangeItem, ItemState
from migrations_tracker.models.comment import Comment
from migrations_tracker.models.membership import Membership
from migrations_tracker.models.notice import Channel, Delivery, Frequency, Notice, NoticeKind, Subscription
from migrations_tracker.models.plan import Plan, PlanEvent, Precedence, PrecedenceState, UnitMember, WorkUnit
from migrations_tracker.models.report import MigrationReport
from migrations_tracker.models.report_schedule import Period, ReportMail, ReportSchedule, ScheduledReport
from migrations_tracker.models.saved_filter import SavedFilter
from migrations_tracker.models.schedule import Absence, Person, Schedule, ScheduledUnit
from migrations_tracker.models.search import SearchDocument, SearchLexeme, SearchMark, SearchWord
from migrations_tracker.models.site_migration import SiteMigration, Transition
from migrations_tracker.models.suppression import Suppression, SuppressionStatus
from migrations_tracker.models.watching import Mention, Watch, WatchReason, WatchSettings

__all__ = [
    "Absence",
    "Account",
    "ApiAnswer",
    "ApiToken",
    "Attachment",
    "BulkChange",
    "BulkChangeItem",
    "Channel",
    "Comment",
    "Delivery",
    "Frequency",
    "ItemState",
    "LoginFailure",
    "Membership",
    "Mention",
    "MigrationReport",
    "Notice",
    "NoticeKind",
    "Period",
    "Person",
    "Plan",
    "PlanEvent",
    "Precedence",
    "PrecedenceState",
    "ReportMail",
    "ReportSchedule",
    "SavedFilter",
    "Schedule",
    "ScheduledReport",
    "ScheduledUnit",
    "SearchDocument",
    "SearchLexeme",
    "SearchMark",
    "SearchWord",
    "SiteMigration",
    "Subscription",
    "Suppression",
    "SuppressionStatus",
    "TokenScope",
    "Transition",
    "UnitMember",
    "Watch",
    "WatchReason",
    "WatchSettings",
    "WorkUnit",
]

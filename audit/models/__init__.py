"""The facts in the database."""

from __future__ import annotations

from audit.models.audit_note import AuditNote, NoteSubject
from audit.models.claim import Claim, ClaimSource, CommitReading
from audit.models.driver_answer import DriverAnswer
from audit.models.facts import StoredFacts
from audit.models.gap import CapabilityGap, CapabilityGapChange, GapChangeKind
from audit.models.held_drop import HeldDrop, HeldSite, HeldSiteEnd, HoldState
from audit.models.history import BranchScan, SiteEvent, SiteEventKind, SiteTally
from audit.models.imported_audit import (
    AuditUpload,
    FindingSite,
    ImportedAudit,
    ImportedFinding,
    Judgement,
    Standing,
)
from audit.models.inventory import WorkspaceInventory
from audit.models.knowledge_entry import EntryLink, EntryRevision, KnowledgeEntry, LinkOrigin
from audit.models.lease import LeasedRow, RowState
from audit.models.lineage_ruling import LineageDecision, LineageRuling
from audit.models.match import MatchRuling, OperationMatch
from audit.models.parity import (
    Capability,
    CapabilityReading,
    ParityChange,
    ParityDump,
    ParityOperator,
)
from audit.models.precedent import Precedent, PrecedentKind, PrecedentOpinion, Stance
from audit.models.pull_request import PullRequest, PullRequestCheck, PullRequestSite
from audit.models.reference import ReferenceSource, TextReference
from audit.models.repository import Branch, Commit, Crate, Repository, RepositoryKind
from audit.models.repository_policy import RepositoryPolicy
from audit.models.result import Result
from audit.models.scan import AskedBy, ScanChunk, ScanFile, ScanRequest, ScanRule, ScanRun
from audit.models.site import FallbackSite, Lineage, SiteState

__all__ = [
    "AskedBy",
    "AuditNote",
    "AuditUpload",
    "Branch",
    "BranchScan",
    "Capability",
    "CapabilityGap",
    "CapabilityGapChange",
    "CapabilityReading",
    "Claim",
    "ClaimSource",
    "Commit",
    "CommitReading",
    "Crate",
    "DriverAnswer",
    "EntryLink",
    "EntryRevision",
    "FallbackSite",
    "FindingSite",
    "GapChangeKind",
    "HeldDrop",
    "HeldSite",
    "HeldSiteEnd",
    "HoldState",
    "ImportedAudit",
    "ImportedFinding",
    "Judgement",
    "KnowledgeEntry",
    "LeasedRow",
    "Lineage",
    "LineageDecision",
    "LineageRuling",
    "LinkOrigin",
    "MatchRuling",
    "NoteSubject",
    "OperationMatch",
    "ParityChange",
    "ParityDump",
    "ParityOperator",
    "Precedent",
    "PrecedentKind",
    "PrecedentOpinion",
    "PullRequest",
    "PullRequestCheck",
    "PullRequestSite",
    "ReferenceSource",
    "Repository",
    "RepositoryKind",
    "RepositoryPolicy",
    "Result",
    "RowState",
    "ScanChunk",
    "ScanFile",
    "ScanRequest",
    "ScanRule",
    "ScanRun",
    "SiteEvent",
    "SiteEventKind",
    "SiteState",
    "SiteTally",
    "Stance",
    "Standing",
    "StoredFacts",
    "TextReference",
    "WorkspaceInventory",
]

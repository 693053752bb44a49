"""The facts in the database."""

from __future__ import annotations

from audit.models.claim import Claim, ClaimSource, CommitReading
from audit.models.facts import StoredFacts
from audit.models.gap import CapabilityGap, CapabilityGapChange, GapChangeKind
from audit.models.history import BranchScan, SiteEvent, SiteEventKind, SiteTally
from audit.models.inventory import WorkspaceInventory
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
from audit.models.repository import Branch, Commit, Crate, Repository, RepositoryKind
from audit.models.result import Result
from audit.models.scan import AskedBy, ScanChunk, ScanFile, ScanRequest, ScanRule, ScanRun
from audit.models.site import FallbackSite, Lineage, SiteState

__all__ = [
    "AskedBy",
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
    "FallbackSite",
    "GapChangeKind",
    "LeasedRow",
    "Lineage",
    "LineageDecision",
    "LineageRuling",
    "MatchRuling",
    "OperationMatch",
    "ParityChange",
    "ParityDump",
    "ParityOperator",
    "Repository",
    "RepositoryKind",
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
    "StoredFacts",
    "WorkspaceInventory",
]

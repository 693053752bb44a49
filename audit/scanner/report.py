"""What a scan yields: results with their evidence, and the manifest of what was looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """SARIF 2.1.0 section 3.27.10."""

    NONE = "none"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class BaselineState(StrEnum):
    """SARIF 2.1.0 section 3.27.24."""

    NEW = "new"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    ABSENT = "absent"


class Outcome(StrEnum):
    """What became of a site in the code."""

    STRUCTURED_ERROR = "structured-error"
    OPT_IN_FALLBACK = "opt-in-fallback"
    DEVICE_KERNEL = "device-kernel"
    COMPOSITE = "composite"
    EXPLICIT_TRANSFER = "explicit-transfer"
    REMOVED = "removed"


class FileStatus(StrEnum):
    """How a file of the scanned tree ended.

    Only `SCANNED` and `UNCHANGED` files can close a site; a `PARTIAL` file was scanned where it parses.
    """

    SCANNED = "scanned"
    UNCHANGED = "unchanged"
    PARTIAL = "partial"
    SKIPPED = "skipped"
    FAILED = "failed"
    MISSING = "missing"


NO_PROPERTIES: Mapping[str, str] = {}

UNSCANNED = frozenset({FileStatus.SKIPPED, FileStatus.FAILED, FileStatus.MISSING})
"""What was in a file of these is not known."""


class RuleStatus(StrEnum):
    """Whether a rule ran. A rule that did not run has found nothing out: it is never clean."""

    RAN = "ran"
    NOT_RUN = "not-run"
    FAILED = "failed"


class Region(NamedTuple):
    """A SARIF region: lines and columns from 1, columns in Unicode code points, end column exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


class EvidenceStep(NamedTuple):
    """One step of a SARIF codeFlow.

    `role` is `anchor`, `call` (a step into a callee), `effect` (the download, host loop or missing launch
    that the chain ends in) or `guard` (a condition that does not dominate it).
    """

    role: str
    path: str
    region: Region
    symbol: str
    message: str


class Suppression(NamedTuple):
    """A SARIF suppression found in the source."""

    kind: str
    status: str
    justification: str
    region: Region


class Result(NamedTuple):
    """One match of a rule in one scan.

    `symbol` is the SARIF fullyQualifiedName (`crate::module::Type::function`, a macro without `!`); `crate`
    the Cargo package name, or empty outside any package; `form` the syntactic form in kebab-case; `snippet`
    the source lines of the region. `partial_fingerprints` maps versioned keys to hex digests and holds
    nothing that changes when unrelated lines do.
    """

    rule_id: str
    level: Level
    message: str
    path: str
    region: Region
    symbol: str
    crate: str
    form: str
    partial_fingerprints: Mapping[str, str]
    evidence: tuple[EvidenceStep, ...]
    snippet: str
    suppressions: tuple[Suppression, ...] = ()
    properties: Mapping[str, str] = NO_PROPERTIES


class EarlierResult(NamedTuple):
    """A result of an earlier scan, as far as it takes to say what became of it.

    `key` is the asker's own name for it: the answer comes back under it.
    """

    key: int
    rule_id: str
    symbol: str
    path: str
    form: str
    partial_fingerprints: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SiteOutcome:
    """What stands where an earlier result was, told in a sentence and shown by steps.

    `properties` notes what the outcome alone does not say: `hostBody` that an opt-in's host code can't run.
    """

    outcome: Outcome
    text: str
    steps: tuple[EvidenceStep, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def item_is_gone(self) -> bool:
        """Whether the function or constant went altogether: nothing is left that could be shown."""
        return self.outcome is Outcome.REMOVED and not self.steps


class ManifestEntry(NamedTuple):
    """One Rust file (or Cargo manifest) of the tree and how it ended."""

    path: str
    blob_id: str
    status: FileStatus
    reason: str = ""
    size_bytes: int = 0
    line_count: int = 0


class RuleRun(NamedTuple):
    """Whether one rule ran in this scan, and why not, or why it ran narrowed: its silence tells little."""

    rule_id: str
    status: RuleStatus
    reason: str = ""


class CrateInfo(NamedTuple):
    """A Cargo package of the tree: name, folder relative to the root (empty for the root itself)."""

    name: str
    path: str
    is_workspace_member: bool


class SourceInfo(NamedTuple):
    """Where the scanned bytes came from. What follows `root` is empty for a plain folder.

    For the work tree of a repository as it is on disk, `revision`, `commit_id` and `committed_at` are empty:
    the bytes are those of no commit. `path_in_repository` is the scanned folder inside the repository, empty
    for all of it.
    """

    root: str
    revision: str = ""
    commit_id: str = ""
    repository_uri: str = ""
    branch: str = ""
    committed_at: datetime | None = None
    path_in_repository: str = ""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Everything one scan found out. Results are sorted by path, line, column, rule.

    `profile_reason` says why it was this profile, empty where nobody chose.
    `outcomes` says what became of the earlier results that the scan was asked about, by their keys; one that
    was found again, or of which the code does not tell, is not in it.
    `level_overrides` are the levels that the project gave to rules in place of their own, by the rules' ids;
    `policy_version` is the policy that a server judged under, empty for the one that came with the scanner.
    `own_clauses` are the clauses that the project added to it, by the rules that rest on them, and
    `own_clauses_of_forms` those that rest on syntactic forms, by these.
    """

    scanner_version: str
    profile_name: str
    profile_hash: str
    ptxas_version: str
    source: SourceInfo
    crates: tuple[CrateInfo, ...]
    manifest: tuple[ManifestEntry, ...]
    rule_runs: tuple[RuleRun, ...]
    results: tuple[Result, ...]
    duration_seconds: float
    profile_reason: str = ""
    outcomes: Mapping[int, SiteOutcome] = field(default_factory=dict)
    level_overrides: Mapping[str, Level] = field(default_factory=dict)
    policy_version: str = ""
    own_clauses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own_clauses_of_forms: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Progress(NamedTuple):
    """A step of a running scan: `phase` is `read`, `extract`, `link` or `judge`; `total` may be 0."""

    phase: str
    done: int
    total: int

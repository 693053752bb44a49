"""What a migration report says, before it is written in any format.

All formats are written from this document, so that the same number stands in each of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from audit.policy.links import RULE_CLAUSES
from audit.policy.sentences import Said
from audit.scanner.report import SiteOutcome
from migrations_tracker.reports import sentences
from workers.protocol.codec import canonical_bytes

SCHEMA = "ferroaudit-report/1"
# A page of fifty thousand sites would take minutes to make and nobody would read it; its files hold them all.
SITES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ScanLine:
    """A scan the report rests on. Times are ISO 8601 with their offset; a plain folder has no commit time."""

    number: int
    commit: str
    committed_at: str
    finished_at: str

    @property
    def short_commit(self) -> str:
        """The first characters that people read; a plain folder's state is named without its prefix."""
        return self.commit.removeprefix("snapshot:")[:12]

    @property
    def committed(self) -> str:
        """When it was committed, as people read it, in UTC."""
        if not self.committed_at:
            return ""
        return f"{datetime.fromisoformat(self.committed_at).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True)
class Judge:
    """What the results depend on beside the commit."""

    scanner_version: str
    profile: str
    profile_hash: str
    ptxas_version: str
    policy_version: str


@dataclass(frozen=True, slots=True)
class LevelLine:
    """Open sites of one rule or crate, by level; `note` counts those of level none, too."""

    key: str
    title: str
    error: int
    warning: int
    note: int

    @property
    def total(self) -> int:
        """All levels together."""
        return self.error + self.warning + self.note


@dataclass(frozen=True, slots=True)
class CountLine:
    """A word of the product with how often it holds."""

    key: str
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A site that is open. `is_new` says that it began after the earlier scan.

    `suppressed` is why a person ruled that it stays as it is, empty where nobody did. `result` is the stored
    result that shows it, 0 in a report of before that was kept: sites are merged and split, results are not.
    """

    site: int
    rule_id: str
    rule_name: str
    level: str
    crate: str
    path: str
    line: int
    symbol: str
    message: str
    status: str
    assignee: str
    is_new: bool
    suppressed: str = ""
    result: int = 0


@dataclass(frozen=True, slots=True)
class ClosedSite:
    """A site that was gone since, what became of it, and the sentence that this bears out.

    `result` is the last stored result of it, and `became` what showed its outcome; both as of an open site.
    """

    site: int
    rule_id: str
    rule_name: str
    crate: str
    path: str
    line: int
    symbol: str
    outcome: str
    shown_by: str
    commit: str
    status: str
    verdict: str
    sentence: str
    clauses: tuple[str, ...]
    result: int = 0
    became: SiteOutcome | None = None


@dataclass(frozen=True, slots=True)
class NotSeen:
    """A file or rule the scan could not look at or run, with the reason."""

    name: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would close the open sites of a rule.

    `own_clauses` are the repository's own that the rule rests on, in the version the scan was judged under.
    """

    rule_id: str
    rule_name: str
    count: int
    text: str
    own_clauses: tuple[str, ...] = ()

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that the rule rests on; none of a rule that is retired."""
        return (*RULE_CLAUSES.get(self.rule_id, ()), *self.own_clauses)


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A migration report of one branch at one scan, and of the time since an earlier one.

    A number of gaps is None where it is not known; `gaps_unknown` is why.
    """

    schema: str
    repository: str
    repository_name: str
    branch: str
    scan: ScanLine
    since: ScanLine | None
    judge: Judge
    file_count: int
    line_count: int
    open_count: int
    new_count: int
    closed_count: int
    gaps_open: int | None
    gaps_closed: int | None
    rules: tuple[LevelLine, ...]
    crates: tuple[LevelLine, ...]
    statuses: tuple[CountLine, ...]
    outcomes: tuple[CountLine, ...]
    remedies: tuple[Remedy, ...]
    open_sites: tuple[OpenSite, ...]
    closed_sites: tuple[ClosedSite, ...]
    files_not_scanned: tuple[NotSeen, ...]
    rules_not_run: tuple[NotSeen, ...]
    gaps_unknown: str = ""

    @property
    def unverified_count(self) -> int:
        """Closed sites that no run on a GPU has looked at."""
        return sum(1 for site in self.closed_sites if not site.verdict)

    @property
    def unexplained_count(self) -> int:
        """Closed sites of which the code did not tell what became."""
        return sum(1 for site in self.closed_sites if not site.outcome)

    @property
    def unverified_remark(self) -> Said | None:
        """What has to be said where no run on a GPU has looked at something that is closed."""
        return sentences.UNVERIFIED.said() if self.unverified_count else None

    @property
    def gaps_remark(self) -> Said | None:
        """What has to be said where the gaps are not known."""
        return sentences.GAPS_NOT_KNOWN.said(reason=self.gaps_unknown) if self.gaps_unknown else None

    @property
    def nothing_open_remark(self) -> Said | None:
        """What has to be said where nothing is open."""
        return None if self.open_sites else sentences.NOTHING_OPEN.said()


@dataclass(frozen=True, slots=True)
class ReportHead:
    """What a page shows of a report: the document with the first of its sites, and counts of them all."""

    document: ReportDocument
    unverified_count: int
    unexplained_count: int
    is_whole: bool

    @property
    def unverified_remark(self) -> Said | None:
        """What has to be said where no run on a GPU has looked at something that is closed."""
        return sentences.UNVERIFIED.said() if self.unverified_count else None


def document_head(document: ReportDocument, *, at_most: int | None = SITES_SHOWN) -> ReportHead:
    """Cut the lists of sites to so many, or not at all."""
    first = replace(
        document,
        open_sites=document.open_sites[:at_most],
        closed_sites=document.closed_sites[:at_most],
    )
    return ReportHead(
        document=first,
        unverified_count=document.unverified_count,
        unexplained_count=document.unexplained_count,
        is_whole=first == document,
    )


def document_digest(document: ReportDocument) -> str:
    """Return the SHA-256 of the document's canonical spelling: the same facts give the same digest."""
    return hashlib.sha256(canonical_bytes(document)).hexdigest()

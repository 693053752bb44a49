"""Scanning commit after commit of one repository, each held against its first parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from audit.rules import RULES
from audit.scanner.cache import DirectoryCache, FactsCache
from audit.scanner.carried import Carried
from audit.scanner.errors import ScanError
from audit.scanner.fingerprint import strict_fingerprints
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.report import EarlierResult, Result, ScanReport, SiteOutcome
from audit.scanner.source.opening import open_source

_KEPT_REPORTS = 24
"""A line is long and a report is large; a parent whose report is gone is scanned again."""


@dataclass(frozen=True, slots=True)
class CommitJob:
    """A commit to scan. `is_same_tree` says that it changes nothing a scan reads since its first parent."""

    commit_id: str
    parent_id: str
    is_same_tree: bool


@dataclass(frozen=True, slots=True)
class LineJob:
    """Commits to scan in this order; `profile` is empty where it is chosen for each by its tree."""

    location: Path
    profile: str
    cache: Path
    commits: Sequence[CommitJob]


Place = tuple[str, str, str]
"""A result's rule and file, and the fingerprint that tells it from all others there."""


@dataclass(frozen=True, slots=True)
class ScannedCommit:
    """What the scan of a commit gave, or why it gave nothing.

    `became` tells what became of results of the first parent that are gone.
    """

    commit_id: str
    report: ScanReport | None
    failure_reason: str = ""
    became: Mapping[Place, SiteOutcome] = field(default_factory=dict)


def line_scan(jobs: Iterable[LineJob]) -> Iterator[ScannedCommit]:
    """Scan the commits of jobs in turn; a parent outside them is scanned for its results alone."""
    scanner: _LineScanner | None = None
    for job in jobs:
        if scanner is None or not scanner.suits(job):
            scanner = _LineScanner(job)
        for commit in job.commits:
            yield scanner.scan(commit)


class _LineScanner:
    """Keeps the reports of the last commits it has seen: their children ask for them."""

    def __init__(self, job: LineJob) -> None:
        self._job = job
        self._cache: FactsCache = DirectoryCache(job.cache)
        self._assembler: Assembler | None = find_assembler(cache=job.cache, jobs=1)
        self._reports: dict[str, ScanReport | None] = {}
        self._carried = Carried()

    def suits(self, job: LineJob) -> bool:
        """Say whether another job asks for commits of the same repository in the same way."""
        return replace(job, commits=()) == replace(self._job, commits=())

    def scan(self, commit: CommitJob) -> ScannedCommit:
        """Scan a commit and say what became of its first parent's results."""
        for oldest in list(self._reports)[:-_KEPT_REPORTS]:
            del self._reports[oldest]
        try:
            parent = self._report_of(commit.parent_id) if commit.parent_id else None
            if commit.is_same_tree and parent is not None:
                source = open_source(self._job.location, commit.commit_id)
                # A scan is a function of the files it reads: the same files have the same results.
                report = replace(parent, source=source.info, outcomes={}, duration_seconds=0.0)
            else:
                report = self._scan(commit.commit_id, earlier_results(parent.results) if parent else ())
        except ScanError as error:
            self._reports[commit.commit_id] = None
            return ScannedCommit(commit.commit_id, None, str(error))
        self._reports[commit.commit_id] = report
        before = parent.results if parent is not None else ()
        became = {
            place_of(before[at].rule_id, before[at].path, before[at].partial_fingerprints): outcome
            for at, outcome in report.outcomes.items()
        }
        return ScannedCommit(commit.commit_id, report, became=became)

    def _report_of(self, commit_id: str) -> ScanReport | None:
        if commit_id not in self._reports:
            try:
                self._reports[commit_id] = self._scan(commit_id, ())
            except ScanError:
                self._reports[commit_id] = None
        return self._reports[commit_id]

    def _scan(self, commit_id: str, earlier: Sequence[EarlierResult]) -> ScanReport:
        source = open_source(self._job.location, commit_id)
        chosen = profile_for(source, self._job.profile)
        report = scan(
            source,
            profile=chosen.profile,
            rules=RULES,
            cache=self._cache,
            assembler=self._assembler,
            earlier=earlier,
            carried=self._carried,
        )
        return replace(report, profile_reason=chosen.reason)


def place_of(rule_id: str, path: str, partial_fingerprints: Mapping[str, str]) -> Place:
    """Name a result of a commit so that another scan of it, by whatever judge, names the same one."""
    strict = sorted(strict_fingerprints(partial_fingerprints))
    return rule_id, path, strict[0][1] if strict else ""


def earlier_results(results: Sequence[Result]) -> list[EarlierResult]:
    """Return results as a later scan is asked what became of them, by their place."""
    return [
        EarlierResult(place, one.rule_id, one.symbol, one.path, one.form, one.partial_fingerprints)
        for place, one in enumerate(results)
    ]

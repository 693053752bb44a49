"""Scanning both ends of a change by one judge, and holding what its commits claim against the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.check.commits import Range
from audit.claims.bearing import FALLBACK_RULES, Held, Measured, Place, hold_claims
from audit.claims.descriptions import told_by
from audit.claims.finding import Claim, find_claims
from audit.rules.base import Rule
from audit.scanner.baseline import Baseline, Comparison, baseline_of_report, compare, earlier_results
from audit.scanner.cache import DirectoryCache
from audit.scanner.errors import ScanError
from audit.scanner.kept import KeptReports
from audit.scanner.levels import levels_by_rule, with_levels
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.progress import ProgressBar
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.report import (
    UNSCANNED,
    BaselineState,
    FileStatus,
    Level,
    ManifestEntry,
    Result,
    ScanReport,
)
from audit.scanner.source.base import Source
from audit.scanner.source.opening import open_source
from audit.scanner.suppression import is_suppressed


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """What a commit of the change claims, or the description of all, held against the whole change.

    `commit_id` is empty for the description.
    """

    commit_id: str
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A change, scanned at both ends.

    `unread` are the files that it brings or changes and that were not read whole at its end: what is new in
    them is not known.
    """

    change: Range
    source: Source
    report: ScanReport
    comparison: Comparison
    messages: tuple[HeldMessage, ...]
    unread: tuple[ManifestEntry, ...] = ()


def check_range(
    path: Path,
    change: Range,
    *,
    profile: str,
    rules: Sequence[Rule],
    jobs: int,
    cache: Path | None,
    progress: ProgressBar,
    description: str = "",
    levels: Mapping[str, Level] | None = None,
) -> Check:
    """Scan where a change began and where it ends, and compare; `levels` go before those of the profile.

    What `description`, the text of a pull request, claims is held against it too.
    """
    source = open_source(path, change.head)
    chosen = profile_for(source, profile)
    overrides = levels_by_rule(chosen.profile.levels, rules) | dict(levels or {})
    needs_assembler = any(rule.needs_assembler for rule in rules)
    assembler = find_assembler(cache=cache, jobs=jobs) if needs_assembler else None
    facts = DirectoryCache(cache / "facts") if cache else None
    reports = KeptReports(cache / "reports") if cache else None
    try:
        before = scan(
            open_source(path, change.start),
            profile=chosen.profile,
            rules=rules,
            jobs=jobs,
            cache=facts,
            assembler=assembler,
            progress=progress,
            reports=reports,
        )
        before = with_levels(before, overrides)
        baseline = baseline_of_report(before)
        stood = {(entry.path, entry.blob_id) for entry in before.manifest}
    except ScanError as error:
        if "no Rust file" not in str(error):
            raise
        # A change that brings the first Rust file: all it holds is new.
        baseline, stood = Baseline((), frozenset()), set()
    report = scan(
        source,
        profile=chosen.profile,
        rules=rules,
        jobs=jobs,
        cache=facts,
        assembler=assembler,
        progress=progress,
        earlier=earlier_results(baseline),
        reports=reports,
    )
    report = with_levels(report, overrides)
    comparison = compare(report, baseline)
    held = _held(change, report, comparison, description)
    unread = (entry for entry in report.manifest if (entry.path, entry.blob_id) not in stood)
    return Check(change, source, report, comparison, held, tuple(filter(_is_not_whole, unread)))


def _is_not_whole(entry: ManifestEntry) -> bool:
    return entry.status in UNSCANNED or entry.status is FileStatus.PARTIAL


def _held(
    change: Range, report: ScanReport, comparison: Comparison, description: str
) -> tuple[HeldMessage, ...]:
    standing = [_place(result) for result in report.results if not is_suppressed(result)]
    measured = Measured(
        ended=[
            _place(gone.result, gone.outcome.outcome.value if gone.outcome else "")
            for gone in comparison.absent
        ],
        new=[
            _place(one.result)
            for one in comparison.results
            if one.state is BaselineState.NEW and not is_suppressed(one.result)
        ],
        standing=[place for place in standing if place.rule_id in FALLBACK_RULES],
    )
    read = [(message, find_claims(message.text)) for message in change.messages()]
    # What each commit counts was measured of all of them together.
    total = sum(claim.count or 0 for _, claims in read for claim in claims)
    # The description speaks of all of them, and counts what they count once more.
    described = hold_claims(find_claims(told_by(description)), measured)
    held = [
        HeldMessage("", described),
        *(
            HeldMessage(message.commit_id, tuple(_hold(claim, measured, total) for claim in claims))
            for message, claims in read
        ),
    ]
    return tuple(one for one in held if one.held)


def _hold(claim: Claim, measured: Measured, total: int) -> Held:
    (held,) = hold_claims([claim], measured, claimed_beside=total - (claim.count or 0))
    return held


def _place(result: Result, outcome: str = "") -> Place:
    return Place(result.rule_id, result.path, result.region.start_line, result.symbol, outcome)

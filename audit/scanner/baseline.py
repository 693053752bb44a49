"""Comparing a scan with an earlier one that was kept as SARIF."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import splitext
from typing import Any

from audit.scanner.errors import ScanError
from audit.scanner.matching import KnownSite, Match, MatchPass, match_results
from audit.scanner.output.sarif_result import path_from_uri, result_from_sarif
from audit.scanner.report import (
    BaselineState,
    EarlierResult,
    FileStatus,
    ManifestEntry,
    Result,
    RuleStatus,
    ScanReport,
    SiteOutcome,
)
from audit.scanner.suppression import is_suppressed
from audit.version import TOOL_NAME

_CLOSING = frozenset({FileStatus.SCANNED, FileStatus.UNCHANGED})
DOUBTFUL = frozenset({FileStatus.PARTIAL, FileStatus.FAILED, FileStatus.MISSING})


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier scan: its results (suppressed ones too), the files it knew, and its guid.

    `unread` are the files that it could not read whole, each with the reason: what they held is not known.
    """

    results: tuple[Result, ...]
    paths: frozenset[str]
    guid: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A result of this scan, its state against the baseline, and what it was there.

    `not_read_before` says why the baseline could not have seen it: its file was not read whole. Whoever
    mends that file has not brought what stands in it, so it is not new.
    """

    result: Result
    state: BaselineState
    earlier: Result | None = None
    not_read_before: str = ""


@dataclass(frozen=True, slots=True)
class AbsentResult:
    """A result of the baseline that is gone, and what became of it if that is known."""

    result: Result
    outcome: SiteOutcome | None


@dataclass(frozen=True, slots=True)
class UnseenResult:
    """A result of the baseline that this scan could not have found again, and why.

    `is_new` where the baseline is older than the result: a scan in between has seen it first.
    """

    result: Result
    reason: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A scan beside its baseline. `results` are in the order of the scan's own."""

    results: tuple[ComparedResult, ...]
    absent: tuple[AbsentResult, ...] = ()
    unseen: tuple[UnseenResult, ...] = ()
    baseline_guid: str = ""

    @property
    def not_read_before(self) -> list[ComparedResult]:
        """The results that the baseline could not have seen."""
        return [compared for compared in self.results if compared.not_read_before]

    def count(self, state: BaselineState) -> int:
        """Count the results of this scan in a state, without those that the baseline could not have seen."""
        return sum(compared.state is state and not compared.not_read_before for compared in self.results)


def read_baseline(path: Path) -> Baseline:
    """Read the SARIF file of an earlier scan. Raises `ScanError` when it is none of ours."""
    try:
        log = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScanError(
            f"The baseline {path} can't be read: {(error.strerror or str(error)).lower()}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ScanError(f"The baseline {path} is no JSON: {error}.") from error
    try:
        return _baseline_of(log)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ScanError(
            f"The baseline {path} is no SARIF 2.1.0 file of this program ({error}): make one with "
            "`--format sarif --output FILE`."
        ) from error


def earlier_results(baseline: Baseline) -> list[EarlierResult]:
    """Return the results of a baseline as a scan asks for them, by their place in it."""
    return [
        EarlierResult(
            key=index,
            rule_id=result.rule_id,
            symbol=result.symbol,
            path=result.path,
            form=result.form,
            partial_fingerprints=result.partial_fingerprints,
        )
        for index, result in enumerate(baseline.results)
    ]


def compare(report: ScanReport, baseline: Baseline) -> Comparison:
    """Match the results of a scan with those of its baseline, one to one, from strict to loose.

    A result of the baseline that is not found again is absent only where this scan looked: its file was
    scanned whole or is gone, and its rule ran. Else it is unseen, and still counts as standing. What became
    of the absent ones is in the report, if the scan was asked for it.
    """
    _require_same_tree(report, baseline)
    matches = match_results(_known(baseline, report), report.results, lambda keys: _codes(baseline, keys))
    results = tuple(_compared(report.results[match.result], match, baseline) for match in matches)
    found_again = {match.site_id for match in matches}
    why_unseen = _WhyUnseen(report)
    absent, unseen = [], []
    for index, result in enumerate(baseline.results):
        if index in found_again:
            continue
        reason = why_unseen(result, is_told=index in report.outcomes)
        if reason:
            unseen.append(UnseenResult(result, reason))
        else:
            absent.append(AbsentResult(result, report.outcomes.get(index)))
    return Comparison(results, tuple(absent), tuple(unseen), baseline.guid)


def _baseline_of(log: Mapping[str, Any]) -> Baseline:
    if log["version"] != "2.1.0":
        raise ValueError(f"version {log['version']!r}")
    runs = [run for run in log["runs"] if run["tool"]["driver"]["name"] == TOOL_NAME]
    if len(runs) != 1:
        raise ValueError(f"{len(runs)} runs of {TOOL_NAME}")
    [run] = runs
    standing = [each for each in run.get("results", []) if each.get("baselineState") != BaselineState.ABSENT]
    known = {
        path_from_uri(one["location"]["uri"]): one.get("properties", {}) for one in run.get("artifacts", [])
    }
    unread = {
        path: f"{told['status']}: {told.get('reason', '')}"
        for path, told in known.items()
        if told.get("status") in DOUBTFUL
    }
    results = tuple(result_from_sarif(each) for each in standing)
    paths = frozenset(known) | {result.path for result in results}
    return Baseline(results, paths, run.get("automationDetails", {}).get("guid", ""), unread)


def baseline_of_report(report: ScanReport) -> Baseline:
    """Take a scan that was just made as the baseline of another."""
    unread = {
        entry.path: f"{entry.status.value}: {entry.reason}"
        for entry in report.manifest
        if entry.status in DOUBTFUL
    }
    return Baseline(report.results, frozenset(entry.path for entry in report.manifest), unread=unread)


def _require_same_tree(report: ScanReport, baseline: Baseline) -> None:
    """Refuse a baseline of another folder: every result in it would look gone."""
    if baseline.paths and baseline.paths.isdisjoint(entry.path for entry in report.manifest):
        raise ScanError(
            f"The baseline knows none of the files below {report.source.root}: it was made of another "
            "folder. Scan the folder it was made of, or make a new one."
        )


def _known(baseline: Baseline, report: ScanReport) -> list[KnownSite]:
    """Return the results of a baseline as sites, by their places in it."""
    files = {entry.path for entry in report.manifest}
    return [
        KnownSite(
            site_id=index,
            rule_id=result.rule_id,
            symbol=result.symbol,
            path=result.path,
            partial_fingerprints=result.partial_fingerprints,
            may_have_changed=True,
            start_line=result.region.start_line,
            file_is_gone=result.path not in files,
        )
        for index, result in enumerate(baseline.results)
    ]


def _codes(baseline: Baseline, keys: Iterable[int]) -> dict[int, str]:
    return {key: baseline.results[key].snippet for key in keys}


def _compared(result: Result, match: Match, baseline: Baseline) -> ComparedResult:
    """Tell how a result stands. Lines may move without a change that anybody needs to see."""
    if match.site_id is None:
        why = baseline.unread.get(result.path, "")
        return ComparedResult(
            result, BaselineState.UNCHANGED if why else BaselineState.NEW, not_read_before=why
        )
    earlier = baseline.results[match.site_id]
    is_same = match.match_pass is MatchPass.FINGERPRINT and _standing(result) == _standing(earlier)
    state = BaselineState.UNCHANGED if is_same else BaselineState.UPDATED
    return ComparedResult(result, state, earlier)


def _standing(result: Result) -> tuple[object, ...]:
    return result.path, result.level, is_suppressed(result)


class _WhyUnseen:
    """Says why this scan could not have found a result, or nothing when it could."""

    def __init__(self, report: ScanReport) -> None:
        self._entries: dict[str, ManifestEntry] = {entry.path: entry for entry in report.manifest}
        self._not_run = {
            run.rule_id: f"the rule did not run: {run.reason}"
            for run in report.rule_runs
            if run.status is not RuleStatus.RAN
        }
        self._ran = {run.rule_id for run in report.rule_runs if run.status is RuleStatus.RAN}

    def __call__(self, result: Result, *, is_told: bool) -> str:
        """Return the reason; `is_told` where the scan said what became of it."""
        if result.rule_id not in self._ran:
            return self._not_run.get(result.rule_id, "the rule is not known any more")
        entry = self._entries.get(result.path) or self._closed_folder_above(result.path)
        if entry is None and not is_told:
            entry = self._may_hold(result)
        if entry is None or entry.status in _CLOSING:
            return ""
        return f"{entry.path} {entry.status.value}: {entry.reason}"

    def _may_hold(self, result: Result) -> ManifestEntry | None:
        """Find a file that was not read whole, to which what is gone with its file may have moved."""
        suffix = splitext(result.path)[1]
        found = (entry for entry in self._entries.values() if entry.status in DOUBTFUL)
        return next((entry for entry in found if entry.path.endswith(suffix)), None)

    def _closed_folder_above(self, path: str) -> ManifestEntry | None:
        """Find the folder that was not entered (closed, a submodule, a link) and would hold the file."""
        while path := path.rpartition("/")[0]:
            if path in self._entries:
                return self._entries[path]
        return None

"""Comparing a scan with an earlier one that was kept as SARIF."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from audit.scanner.errors import ScanError
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

TOOL_NAME = "ferroaudit"
_STRICT_KEYS = "site/"
_SIMILAR = 0.75
_TELLING_WORDS = 12
_CLOSING = frozenset({FileStatus.SCANNED, FileStatus.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier scan: its results (suppressed ones too), the files it knew, and its guid."""

    results: tuple[Result, ...]
    paths: frozenset[str]
    guid: str = ""


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A result of this scan, its state against the baseline, and what it was there."""

    result: Result
    state: BaselineState
    earlier: Result | None = None


@dataclass(frozen=True, slots=True)
class AbsentResult:
    """A result of the baseline that is gone, and what became of it if that is known."""

    result: Result
    outcome: SiteOutcome | None


@dataclass(frozen=True, slots=True)
class UnseenResult:
    """A result of the baseline that this scan could not have found again, and why."""

    result: Result
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A scan beside its baseline. `results` are in the order of the scan's own."""

    results: tuple[ComparedResult, ...]
    absent: tuple[AbsentResult, ...] = ()
    unseen: tuple[UnseenResult, ...] = ()
    baseline_guid: str = ""

    def count(self, state: BaselineState) -> int:
        """Count the results of this scan in a state."""
        return sum(compared.state is state for compared in self.results)


def read_baseline(path: Path) -> Baseline:
    """Read the SARIF file of an earlier scan. Raises `ScanError` when it is none of ours."""
    try:
        log = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScanError(
            f"The baseline {path} can't be read: {(error.strerror or str(error)).lower()}."
        ) from error
    except ValueError as error:
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
            code=result.snippet,
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
    matcher = _Matcher(report.results, baseline.results)
    earlier = matcher.run()
    results = tuple(
        ComparedResult(result, _state(result, earlier.get(index)), earlier.get(index))
        for index, result in enumerate(report.results)
    )
    why_unseen = _WhyUnseen(report)
    absent, unseen = [], []
    for index, result in matcher.left_over():
        reason = why_unseen(result)
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
    artifacts = [artifact["location"]["uri"] for artifact in run.get("artifacts", [])]
    results = tuple(result_from_sarif(each) for each in standing)
    paths = {path_from_uri(uri) for uri in artifacts} | {result.path for result in results}
    return Baseline(results, frozenset(paths), run.get("automationDetails", {}).get("guid", ""))


def _require_same_tree(report: ScanReport, baseline: Baseline) -> None:
    """Refuse a baseline of another folder: every result in it would look gone."""
    if baseline.paths and baseline.paths.isdisjoint(entry.path for entry in report.manifest):
        raise ScanError(
            f"The baseline knows none of the files below {report.source.root}: it was made of another "
            "folder. Scan the folder it was made of, or make a new one."
        )


def _state(result: Result, earlier: Result | None) -> BaselineState:
    """Tell how a result stands. Lines may move without a change that anybody needs to see."""
    if earlier is None:
        return BaselineState.NEW
    same = _shares_fingerprint(result, earlier) and _standing(result) == _standing(earlier)
    return BaselineState.UNCHANGED if same else BaselineState.UPDATED


def _standing(result: Result) -> tuple[object, ...]:
    return result.path, result.level, is_suppressed(result)


def _shares_fingerprint(one: Result, other: Result) -> bool:
    return not _strict_fingerprints(one).isdisjoint(_strict_fingerprints(other))


def _strict_fingerprints(result: Result) -> set[tuple[str, str]]:
    """Return the fingerprints that hold the anchor, of every version; looser ones say that it was edited."""
    return {item for item in result.partial_fingerprints.items() if item[0].startswith(_STRICT_KEYS)}


@dataclass(slots=True)
class _Matcher:
    """Pairs results by ever looser keys. What has found its partner takes no further part."""

    now: tuple[Result, ...]
    then: tuple[Result, ...]
    _pairs: dict[int, int] = field(default_factory=dict)
    _taken: set[int] = field(default_factory=set)

    def run(self) -> dict[int, Result]:
        """Return the earlier result for the index of each result that has one."""
        self._pass(lambda result: [("fingerprint", *key) for key in _strict_fingerprints(result)])
        self._pass(lambda result: [("item", result.path, result.symbol)])
        self._pass(lambda result: [("symbol", result.symbol)] if result.symbol else [])
        self._pass(lambda result: [("moved", result.symbol.rpartition("::")[2], _text(result))])
        self._pass(lambda result: [("body", _text(result))] if _is_telling(result) else [])
        self._pass(lambda result: [("file", result.path)] if _is_telling(result) else [], at_least=_SIMILAR)
        return {index: self.then[other] for index, other in self._pairs.items()}

    def left_over(self) -> Iterable[tuple[int, Result]]:
        """Yield the earlier results without a partner, with their places in the baseline."""
        return ((index, result) for index, result in enumerate(self.then) if index not in self._taken)

    def _pass(self, keys_of: Callable[[Result], Iterable[tuple[object, ...]]], at_least: float = 0.0) -> None:
        """Pair what is alike in a key; among several, the most similar and then the nearest."""
        candidates: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for index, result in enumerate(self.then):
            if index not in self._taken:
                for key in keys_of(result):
                    candidates[result.rule_id, *key].append(index)
        scored = []
        for index, result in enumerate(self.now):
            if index in self._pairs:
                continue
            others = {
                other for key in keys_of(result) for other in candidates.get((result.rule_id, *key), ())
            }
            for other in others:
                similarity = (
                    _similarity(result, self.then[other], at_least) if len(others) > 1 or at_least else 1.0
                )
                if similarity >= at_least:
                    distance = abs(result.region.start_line - self.then[other].region.start_line)
                    scored.append((-similarity, distance, index, other))
        for _, _, index, other in sorted(scored):
            if index not in self._pairs and other not in self._taken:
                self._pairs[index] = other
                self._taken.add(other)


def _text(result: Result) -> str:
    return " ".join(result.snippet.split())


def _is_telling(result: Result) -> bool:
    """Tell whether the code is long enough to be known again by itself: `Err(_) => host(x)` is not."""
    return len(result.snippet.split()) >= _TELLING_WORDS


def _similarity(one: Result, other: Result, at_least: float) -> float:
    if _text(one) == _text(other):
        return 1.0
    matcher = SequenceMatcher(None, one.snippet.split(), other.snippet.split(), autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= at_least else 0.0


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

    def __call__(self, result: Result) -> str:
        """Return the reason."""
        if result.rule_id not in self._ran:
            return self._not_run.get(result.rule_id, "the rule is not known any more")
        entry = self._entries.get(result.path) or self._closed_folder_above(result.path)
        if entry is None or entry.status in _CLOSING:
            return ""
        return f"{entry.path} {entry.status.value}: {entry.reason}"

    def _closed_folder_above(self, path: str) -> ManifestEntry | None:
        """Find the folder that was not entered (closed, a submodule, a link) and would hold the file."""
        while path := path.rpartition("/")[0]:
            if path in self._entries:
                return self._entries[path]
        return None

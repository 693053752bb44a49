"""SARIF as GitHub code scanning reads it.

That reader takes every result for an open alert: it knows neither `baselineState` nor `suppressions`. It
wants paths from the root of the repository, a rule's help in the log, and `primaryLocationLineHash` to know
an alert again. It refuses what is beyond its limits, and shows a part of what is near them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from audit.rules.base import Rule
from audit.scanner.baseline import Comparison
from audit.scanner.output.sarif import sarif_log
from audit.scanner.output.sarif_result import SOURCE_ROOT, Json, result_to_sarif
from audit.scanner.output.source_text import SourceTexts
from audit.scanner.report import Level, Result, ScanReport
from audit.scanner.suppression import is_suppressed

MAX_RESULTS = 25_000
SHOWN_RESULTS = 5_000
MAX_STEPS = 1_000
MAX_TEXT = 1_000
LINE_HASH = "primaryLocationLineHash"

_SEVERITY = {
    Level.ERROR: "error",
    Level.WARNING: "warning",
    Level.NOTE: "recommendation",
    Level.NONE: "recommendation",
}
_ORDER = (Level.ERROR, Level.WARNING, Level.NOTE, Level.NONE)
_BLOCK = 100
_END_OF_FILE = 0xFFFF
_LINK = re.compile(r"\](?=\()")


@dataclass(frozen=True, slots=True)
class GitHubLog:
    """A log for GitHub, and what people should know of it."""

    log: Json
    remarks: tuple[str, ...]


def github_log(
    report: ScanReport, rules: Sequence[Rule], texts: SourceTexts, comparison: Comparison | None = None
) -> GitHubLog:
    """Return the scan for GitHub: what is suppressed or absent is left out."""
    open_results = [result for result in report.results if not is_suppressed(result)]
    if comparison:
        # Not seen is not gone: left out, GitHub would close the alert as fixed.
        open_results += [unseen.result for unseen in comparison.unseen if not is_suppressed(unseen.result)]
    kept = sorted(open_results, key=lambda result: _ORDER.index(result.level))[:MAX_RESULTS]
    log = sarif_log(report, rules)
    run = log["runs"][0]
    prefix = f"{report.source.path_in_repository}/" if report.source.path_in_repository else ""
    index_of = {rule.id: index for index, rule in enumerate(rules)}
    hashes = _LineHashes(texts)
    run["results"] = [_result(result, index_of, prefix, hashes) for result in kept]
    run["originalUriBaseIds"] = {SOURCE_ROOT: {"description": {"text": "The root of the repository"}}}
    run.pop("versionControlProvenance", None)
    # The files are GitHub's own; their list is most of a small log's size.
    del run["artifacts"]
    for notification in run["invocations"][0]["toolExecutionNotifications"]:
        notification.pop("locations", None)
    for descriptor, rule in zip(run["tool"]["driver"]["rules"], rules, strict=True):
        _complete(descriptor, rule)
    return GitHubLog(log, _remarks(len(open_results)))


def line_hashes(text: str, lines: Sequence[int]) -> dict[int, str]:
    """Compute GitHub's hash of lines: of the 100 characters from the start of the line, white space apart.

    The number behind the colon counts the lines with the same hash up to this one. Characters are UTF-16
    units, arithmetic is modulo 2**64.
    """
    squeezed = re.sub(r"[ \t]", "", re.sub(r"\r\n?", "\n", text))
    units = memoryview(squeezed.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
    units.append(_END_OF_FILE)
    starts = [0, *(index + 1 for index, unit in enumerate(units) if unit == 0x0A)]
    windows = [tuple(units[start : start + _BLOCK]) for start in starts]
    seen: dict[tuple[int, ...], int] = {}
    counts = []
    for window in windows:
        seen[window] = seen.get(window, 0) + 1
        counts.append(seen[window])
    return {
        line: f"{_window_hash(windows[line - 1]):x}:{counts[line - 1]}"
        for line in lines
        if 0 < line <= len(windows)
    }


def _window_hash(window: tuple[int, ...]) -> int:
    padded = window + (0,) * (_BLOCK - len(window))
    return list(accumulate(padded, lambda value, unit: (value * 37 + unit) % 2**64))[-1]


class _LineHashes:
    """The hashes of the lines results start in, file by file."""

    def __init__(self, texts: SourceTexts) -> None:
        self._texts = texts
        self._known: dict[str, dict[int, str]] = {}

    def of(self, result: Result) -> str:
        """Return the hash, or nothing when the text is not at hand."""
        text = self._texts.get(result.path)
        if text is None:
            return ""
        if result.path not in self._known:
            self._known[result.path] = line_hashes(text.text, range(1, len(text.lines) + 1))
        return self._known[result.path].get(result.region.start_line, "")


def _result(result: Result, index_of: Mapping[str, int], prefix: str, hashes: _LineHashes) -> Json:
    sarif = result_to_sarif(result, index_of.get(result.rule_id, -1), prefix)
    sarif.pop("suppressions", None)
    line_hash = hashes.of(result)
    if line_hash:
        sarif["partialFingerprints"][LINE_HASH] = line_hash
    # `[text](1)` is a link to a related location there.
    sarif["message"]["text"] = _LINK.sub("] ", result.message)
    for flow in sarif.get("codeFlows", []):
        for thread in flow["threadFlows"]:
            thread["locations"] = thread["locations"][:MAX_STEPS]
    return sarif


def _complete(descriptor: Json, rule: Rule) -> None:
    for key in ("shortDescription", "fullDescription"):
        descriptor[key] = {"text": _shortened(descriptor[key]["text"])}
    descriptor["properties"] = {
        # No `security` tag and no `security-severity`: these are no vulnerabilities.
        "tags": ["correctness", "gpu"],
        "precision": "high",
        "problem.severity": _SEVERITY[rule.level],
    }


def _shortened(text: str) -> str:
    """Cut a text at the end of a word, below the length that GitHub takes."""
    if len(text) <= MAX_TEXT:
        return text
    ends = [match.start() for match in re.finditer(r"\s", text)]
    cut = ends[bisect_right(ends, MAX_TEXT - 1) - 1] if ends and ends[0] < MAX_TEXT else MAX_TEXT - 1
    return f"{text[:cut]}…"


def _remarks(count: int) -> tuple[str, ...]:
    if count > MAX_RESULTS:
        left_out = count - MAX_RESULTS
        return (f"GitHub takes {MAX_RESULTS:,} results: {left_out:,} of the lowest level are left out.",)
    if count > SHOWN_RESULTS:
        return (f"GitHub shows {SHOWN_RESULTS:,} results: {count - SHOWN_RESULTS:,} will not be seen.",)
    return ()

"""SARIF as GitHub code scanning reads it.

That reader takes every result for an open alert: it knows neither `baselineState` nor `suppressions`. It
wants paths from the root of the repository, a rule's help in the log, and `primaryLocationLineHash` to know
an alert again. It refuses what is beyond its limits, and shows a part of what is near them.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from audit.rules.base import Rule
from audit.scanner.baseline import Comparison
from audit.scanner.output.sarif import clauses_add, sarif_log
from audit.scanner.output.sarif_result import SOURCE_ROOT, Json, result_to_sarif
from audit.scanner.output.source_text import SourceTexts
from audit.scanner.output.summary import plural
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
_END_OF_FILE = b"\xff\xff"
_LINK = re.compile(r"\](?=\()")


@dataclass(frozen=True, slots=True)
class GitHubLog:
    """A log for GitHub, and what people should know of it."""

    log: Json
    remarks: tuple[str, ...]


def github_log(
    report: ScanReport, rules: Sequence[Rule], texts: SourceTexts, comparison: Comparison | None = None
) -> GitHubLog:
    """Return the scan for GitHub: what is suppressed or absent is left out, level none is a note."""
    shown = list(report.results)
    if comparison:
        # Not seen is not gone: left out, GitHub would close the alert as fixed.
        shown += [unseen.result for unseen in comparison.unseen]
    open_results = [one for one in shown if not is_suppressed(one)]
    kept = sorted(open_results, key=lambda result: _ORDER.index(result.level))[:MAX_RESULTS]
    log = sarif_log(report, rules)
    run = log["runs"][0]
    prefix = f"{report.source.path_in_repository}/" if report.source.path_in_repository else ""
    index_of = {rule.id: index for index, rule in enumerate(rules)}
    hashes = _hashes_of(kept, texts)
    run["results"] = [_result(result, index_of, prefix, hashes) for result in kept]
    for sarif, result in zip(run["results"], kept, strict=True):
        clauses_add(sarif, report, result)
    run["originalUriBaseIds"] = {SOURCE_ROOT: {"description": {"text": "The root of the repository"}}}
    run.pop("versionControlProvenance", None)
    # The files are GitHub's own; their list is most of a small log's size.
    del run["artifacts"]
    for notification in run["invocations"][0]["toolExecutionNotifications"]:
        notification.pop("locations", None)
    for descriptor, rule in zip(run["tool"]["driver"]["rules"], rules, strict=True):
        _complete(descriptor, report.level_overrides.get(rule.id, rule.level))
    return GitHubLog(log, _remarks(open_results))


def line_hashes(text: str, lines: Iterable[int]) -> dict[int, str]:
    """Compute GitHub's hash of lines: of the 100 characters from the start of the line, white space apart.

    The number behind the colon counts the lines with the same hash up to this one. Characters are UTF-16
    units, arithmetic is modulo 2**64.
    """
    squeezed = re.sub(r"[ \t]", "", re.sub(r"\r\n?", "\n", text))
    units = squeezed.encode("utf-16-le", "surrogatepass") + _END_OF_FILE
    starts = [0]
    for line in squeezed.split("\n")[:-1]:
        starts.append(starts[-1] + len(line.encode("utf-16-le", "surrogatepass")) + 2)
    windows = [units[start : start + 2 * _BLOCK] for start in starts]
    seen: Counter[bytes] = Counter()
    wanted = set(lines)
    hashes = {}
    for number, window in enumerate(windows, 1):
        seen[window] += 1
        if number in wanted:
            hashes[number] = f"{_window_hash(window):x}:{seen[window]}"
    return hashes


def _window_hash(window: bytes) -> int:
    value = 0
    for (unit,) in struct.iter_unpack("<H", window.ljust(2 * _BLOCK, b"\0")):
        value = (value * 37 + unit) % 2**64
    return value


def _hashes_of(results: Iterable[Result], texts: SourceTexts) -> dict[tuple[str, int], str]:
    """Return the hash of every line that a result starts in, where its file is at hand."""
    lines: dict[str, set[int]] = defaultdict(set)
    for result in results:
        lines[result.path].add(result.region.start_line)
    return {
        (path, line): line_hash
        for path, wanted in lines.items()
        if path in texts
        for line, line_hash in line_hashes(texts[path].text, wanted).items()
    }


def _result(
    result: Result, index_of: Mapping[str, int], prefix: str, hashes: Mapping[tuple[str, int], str]
) -> Json:
    sarif = result_to_sarif(result, index_of.get(result.rule_id, -1), prefix)
    sarif.pop("suppressions", None)
    if result.level is Level.NONE:
        del sarif["kind"]
        sarif["level"] = Level.NOTE.value
    line_hash = hashes.get((result.path, result.region.start_line))
    if line_hash:
        sarif["partialFingerprints"][LINE_HASH] = line_hash
    # `[text](1)` is a link to a related location there.
    sarif["message"]["text"] = _LINK.sub("] ", result.message)
    for flow in sarif.get("codeFlows", []):
        for thread in flow["threadFlows"]:
            thread["locations"] = thread["locations"][:MAX_STEPS]
    return sarif


def _complete(descriptor: Json, level: Level) -> None:
    for key in ("shortDescription", "fullDescription"):
        descriptor[key] = {"text": _shortened(descriptor[key]["text"])}
    descriptor["properties"] |= {
        # No `security` tag and no `security-severity`: these are no vulnerabilities.
        "tags": ["correctness", "gpu"],
        "precision": "high",
        "problem.severity": _SEVERITY[level],
    }


def _shortened(text: str) -> str:
    """Cut a text at the end of a word, below the length that GitHub takes."""
    if len(text) <= MAX_TEXT:
        return text
    ends = [match.start() for match in re.finditer(r"\s", text)]
    cut = ends[bisect_right(ends, MAX_TEXT - 1) - 1] if ends and ends[0] < MAX_TEXT else MAX_TEXT - 1
    return f"{text[:cut]}…"


def _remarks(results: Sequence[Result]) -> tuple[str, ...]:
    quiet = sum(one.level is Level.NONE for one in results)
    remarks = [f"{plural(quiet, 'result')} of level none: told to GitHub as a note."] if quiet else []
    count = len(results)
    if count > MAX_RESULTS:
        left_out = count - MAX_RESULTS
        remarks.append(
            f"GitHub takes {MAX_RESULTS:,} results: {left_out:,} of the lowest level are left out."
        )
    elif count > SHOWN_RESULTS:
        remarks.append(f"GitHub shows {SHOWN_RESULTS:,} results: {count - SHOWN_RESULTS:,} will not be seen.")
    return tuple(remarks)

"""Reads what Rust's test harness says of one test."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUMMARY = re.compile(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE)
_IGNORED = re.compile(r"^test .* \.\.\. ignored(?:, (.*))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HarnessReport:
    """The last result line: how many tests passed, failed and were ignored."""

    passed: int
    failed: int
    ignored: int
    ignore_reason: str


def harness_command(binary: str, name: str, *, include_ignored: bool) -> list[str]:
    """Give the command that runs exactly one test, with its output as it comes."""
    command = [binary, name, "--exact", "--test-threads=1", "--nocapture"]
    return [*command, "--include-ignored"] if include_ignored else command


def read_report(stdout: str) -> HarnessReport | None:
    """Read the harness's report; none where it did not come to its end."""
    found = list(_SUMMARY.finditer(stdout))
    if not found:
        return None
    last = found[-1]
    # The harness writes nothing after its report: what stands after it was not the harness's.
    if stdout[last.end() :].count("\n") > 3:
        return None
    ignored = _IGNORED.findall(stdout)
    reason = ignored[-1] if ignored else ""
    return HarnessReport(int(last.group(2)), int(last.group(3)), int(last.group(4)), reason)

"""Reports that are kept: a tree of which nothing has changed is not judged again by the same judge.

The key of a report names everything that it depends on: each file that is read with its blob id and size, or
the reason why it is not; the profile; the rules; the assembler; and the scanner itself, by the bytes of its
code, so that nobody has to think of a version. Where the tree came from is no part of it: that is said anew.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from audit.rules.base import Rule
from audit.scanner.extract import grammar_version
from audit.scanner.profile import Profile
from audit.scanner.report import (
    CrateInfo,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    ScanReport,
    SourceInfo,
    Suppression,
)
from audit.scanner.whole_file import file_replace

_SCANNER = Path(__file__).parent
_CODE = {"audit.scanner": _SCANNER, "audit.rules": _SCANNER.parent / "rules"}
_CODE_SUFFIXES = (".py", ".scm")
_DIGEST_BYTES = 20
_MOST = 32


def report_key(
    read: Iterable[tuple[str, ...]], profile: Profile, rules: Sequence[Rule], ptx_judge: str
) -> str:
    """Name a report by all that it depends on; `read` tells each file and what came of it."""
    asked = [rule.id for rule in rules]
    version = ptx_judge if any(rule.needs_assembler for rule in rules) else ""
    words = (code_digest(), profile.name, profile.digest, version, asked, list(read))
    return blake2b(repr(words).encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


class KeptReports:
    """Keeps the last reports in a folder. What can't be read or is damaged counts as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str, source: SourceInfo) -> ScanReport | None:
        """Return the report of a key, as of a tree that comes from `source`."""
        path = self._folder / key
        try:
            data = path.read_bytes()
            body = data[_DIGEST_BYTES:]
            if blake2b(body, digest_size=_DIGEST_BYTES).digest() != data[:_DIGEST_BYTES]:
                return None
            report = _report(marshal.loads(zlib.decompress(body)), source)  # noqa: S302  whole, and no code
            path.touch()
        except (OSError, zlib.error, ValueError, TypeError, EOFError):
            return None
        return report

    def put(self, key: str, report: ScanReport) -> None:
        """Keep a report, unless a rule or the assembler may do better the next time."""
        if any(run.status is RuleStatus.FAILED for run in report.rule_runs):
            return
        if report.ptxas_version and any(run.status is not RuleStatus.RAN for run in report.rule_runs):
            return
        body = zlib.compress(marshal.dumps(_plain(report)), 1)
        file_keep(self._folder, key, blake2b(body, digest_size=_DIGEST_BYTES).digest(), body, most=_MOST)


def file_keep(folder: Path, name: str, digest: bytes, body: bytes | memoryview, *, most: int) -> None:
    """Write a file whole or not at all, and drop the oldest ones over `most`; what fails keeps nothing."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file_replace(folder / name, (digest, body), prefix=".")
        kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[most:]:
            path.unlink(missing_ok=True)


@cache
def code_digest() -> str:
    """Name the scanner by the bytes of its code, with the grammar and the Python that it runs on."""
    digest = blake2b(f"{sys.version} {grammar_version()}".encode(), digest_size=_DIGEST_BYTES)
    for package, folder in _CODE.items():
        for name, data in sorted(_code_of(str(folder), package)):
            digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _code_of(folder: str, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in os.scandir(folder):
        if entry.name.endswith(_CODE_SUFFIXES):
            with open(entry.path, "rb", buffering=0) as file:  # noqa: PTH123
                yield f"{name}/{entry.name}", file.read()
        elif entry.is_dir():
            yield from _code_of(entry.path, f"{name}/{entry.name}")


def _plain(report: ScanReport) -> tuple[Any, ...]:
    return (
        report.scanner_version,
        report.profile_name,
        report.profile_hash,
        report.ptxas_version,
        [(one.name, one.path, one.is_workspace_member) for one in report.crates],
        [
            (one.path, one.blob_id, one.status.value, one.reason, one.size_bytes, one.line_count)
            for one in report.manifest
        ],
        [(one.rule_id, one.status.value, one.reason) for one in report.rule_runs],
        [_plain_result(one) for one in report.results],
    )


def _plain_result(result: Result) -> tuple[Any, ...]:
    return (
        result.rule_id,
        result.level.value,
        result.message,
        result.path,
        _plain_region(result.region),
        result.symbol,
        result.crate,
        result.form,
        dict(result.partial_fingerprints),
        [
            (step.role, step.path, _plain_region(step.region), step.symbol, step.message)
            for step in result.evidence
        ],
        result.snippet,
        [(one.kind, one.status, one.justification, _plain_region(one.region)) for one in result.suppressions],
        dict(result.properties),
    )


def _plain_region(region: Region) -> tuple[int, int, int, int]:
    return region.start_line, region.start_column, region.end_line, region.end_column


def _report(row: tuple[Any, ...], source: SourceInfo) -> ScanReport:
    version, profile_name, profile_hash, ptxas_version, crates, manifest, rule_runs, results = row
    return ScanReport(
        scanner_version=version,
        profile_name=profile_name,
        profile_hash=profile_hash,
        ptxas_version=ptxas_version,
        source=source,
        crates=tuple(CrateInfo(*one) for one in crates),
        manifest=tuple(
            ManifestEntry(path, blob_id, FileStatus(status), *rest)
            for path, blob_id, status, *rest in manifest
        ),
        rule_runs=tuple(RuleRun(rule, RuleStatus(status), reason) for rule, status, reason in rule_runs),
        results=tuple(map(_result, results)),
        duration_seconds=0.0,
    )


def _result(row: tuple[Any, ...]) -> Result:
    rule_id, level, message, path, region, symbol, crate, form, prints, steps, snippet, allowed, rest = row
    return Result(
        rule_id=rule_id,
        level=Level(level),
        message=message,
        path=path,
        region=Region(*region),
        symbol=symbol,
        crate=crate,
        form=form,
        partial_fingerprints=prints,
        evidence=tuple(
            EvidenceStep(role, at, Region(*span), item, text) for role, at, span, item, text in steps
        ),
        snippet=snippet,
        suppressions=tuple(
            Suppression(kind, status, reason, Region(*span)) for kind, status, reason, span in allowed
        ),
        properties=rest,
    )

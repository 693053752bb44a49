"""What a command line asks for, made ready to be scanned: once, or again and again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.arguments import Options
from audit.scanner.cache import DirectoryCache
from audit.scanner.carried import Carried
from audit.scanner.errors import ScanError
from audit.scanner.kept import KeptReports
from audit.scanner.levels import levels_by_rule, with_levels
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.progress import ProgressBar
from audit.scanner.remembered import KeptWorkspaces
from audit.scanner.report import UNSCANNED, EarlierResult, RuleRun, RuleStatus, ScanReport
from audit.scanner.source.base import Source
from audit.scanner.source.selection import RUST_SUFFIX

if TYPE_CHECKING:
    from audit.scanner.baseline import Baseline, Comparison
    from audit.scanner.ptx.assembler import Assembler


class Scanning:
    """Scans sources as a command line asks for."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.baseline = _read_baseline(options.baseline) if options.baseline else None
        self._cache = cache_folder() if options.uses_cache else None

    @cached_property
    def _assembler(self) -> Assembler | None:
        if not any(rule.needs_assembler for rule in self.options.rules):
            return None
        from audit.scanner.ptx.assembler import find_assembler

        return find_assembler(cache=self._cache, jobs=self.options.jobs)

    @property
    def earlier(self) -> Sequence[EarlierResult]:
        """The results of the baseline, as a scan is asked what became of them."""
        if self.baseline is None:
            return ()
        from audit.scanner.baseline import earlier_results

        return earlier_results(self.baseline)

    def compared(self, report: ScanReport) -> Comparison | None:
        """Compare a scan with the baseline; None where there is none."""
        if self.baseline is None:
            return None
        from audit.scanner.baseline import compare

        return compare(report, self.baseline)

    def scan(
        self,
        source: Source,
        *,
        earlier: Iterable[EarlierResult] = (),
        carried: Carried | None = None,
        is_kept: bool = True,
    ) -> ScanReport:
        """Scan a source; without `is_kept` no report is taken from, or left to, another process."""
        options, cached = self.options, self._cache
        chosen = profile_for(source, options.profile)
        levels = levels_by_rule(chosen.profile.levels, RULES) | dict(options.levels)
        progress = ProgressBar(sys.stderr)
        try:
            report = scan(
                source,
                profile=chosen.profile,
                rules=options.rules,
                jobs=options.jobs,
                cache=DirectoryCache(cached / "facts") if cached else None,
                assembler=self._assembler,
                progress=progress,
                earlier=tuple(earlier),
                reports=KeptReports(cached / "reports") if cached and is_kept else None,
                carried=carried,
                workspaces=KeptWorkspaces(cached / "workspaces") if cached else None,
            )
        finally:
            progress.finish()
        require_read(report)
        report = replace(with_rules_left_out(report, RULES), profile_reason=chosen.reason)
        return with_levels(report, levels)


def _read_baseline(path: Path) -> Baseline:
    # Most scans have none: with what it takes to match results, that is a twentieth of the start.
    from audit.scanner.baseline import read_baseline

    return read_baseline(path)


def require_read(report: ScanReport) -> None:
    """Refuse to call a tree clean of which no Rust file could be read."""
    rust = [entry for entry in report.manifest if entry.path.endswith(RUST_SUFFIX)]
    unread = [entry for entry in rust if entry.status in UNSCANNED]
    if unread and len(unread) == len(rust):
        first = unread[0]
        raise ScanError(
            f"none of the {len(rust)} Rust files of {report.source.root} could be read. "
            f"{first.path}: {first.reason}."
        )


def with_rules_left_out(report: ScanReport, rules: Sequence[Rule]) -> ScanReport:
    """Say of every rule that was not asked for that it did not run."""
    runs = {run.rule_id: run for run in report.rule_runs}
    left_out = "left out by --rules"
    return replace(
        report,
        rule_runs=tuple(runs.get(rule.id, RuleRun(rule.id, RuleStatus.NOT_RUN, left_out)) for rule in rules),
    )


def cache_folder() -> Path | None:
    """Return where facts and assemblies are kept: `FERROAUDIT_CACHE_DIR`, or the user's cache folder.

    None for a user who has no home: nothing is kept.
    """
    given = os.environ.get("FERROAUDIT_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path("~/.cache").expanduser()) / "ferroaudit"
    except RuntimeError:
        return None

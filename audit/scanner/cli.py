"""`python -m audit.scanner`: scan, compare, show, and say by the exit status whether it is clean."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.arguments import Options, parse_arguments
from audit.scanner.baseline import Comparison, compare, earlier_results, read_baseline
from audit.scanner.cache import DirectoryCache
from audit.scanner.errors import ScanError
from audit.scanner.kept import KeptReports
from audit.scanner.levels import levels_by_rule, with_levels
from audit.scanner.output.json_text import json_text
from audit.scanner.output.source_text import SourceTexts, paths_shown, read_texts
from audit.scanner.output.style import Style, style_for, visible
from audit.scanner.output.writing import check_stdout, check_writable, write_file, write_stdout
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.progress import ProgressBar
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.remembered import KeptWorkspaces
from audit.scanner.report import UNSCANNED, BaselineState, Level, Result, RuleRun, RuleStatus, ScanReport
from audit.scanner.source.base import Source
from audit.scanner.source.opening import open_source
from audit.scanner.source.selection import RUST_SUFFIX
from audit.scanner.suppression import is_suppressed, is_suppressed_in_source

CLEAN, RESULTS, FAILED, INTERRUPTED = 0, 1, 2, 130
_LAST_STANDARD_STREAM = 2
_DEBUG = "FERROAUDIT_DEBUG"


def command() -> NoReturn:
    """Run the command line as a process of its own, and end it.

    A scan leaves millions of objects behind: taking them apart one by one, only to exit, is a tenth of it.
    """
    gc.disable()
    _occupy_closed_streams()
    status = main()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.flush()
    os._exit(status)


def _occupy_closed_streams() -> None:
    """Keep the numbers of closed standard streams from files that would get what is meant for the streams."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_STREAM:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    try:
        return run(parse_arguments(sys.argv[1:] if arguments is None else arguments, RULES))
    except ScanError as error:
        complain(str(error))
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        # Status 1 would say "results": a defect of ours is a failed scan.
        if os.environ.get(_DEBUG):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}. Set {_DEBUG}=1 to see where, and report it."
        )
    return FAILED


def run(options: Options) -> int:
    """Do what the command line asks for."""
    if options.output:
        check_writable(options.output)
    else:
        check_stdout("--output")
    baseline = read_baseline(options.baseline) if options.baseline else None
    source = open_source(options.path, options.revision)
    chosen = profile_for(source, options.profile)
    levels = levels_by_rule(chosen.profile.levels, RULES) | dict(options.levels)
    cached = cache_folder() if options.uses_cache else None
    is_needed = any(rule.needs_assembler for rule in options.rules)
    progress = ProgressBar(sys.stderr)
    try:
        report = scan(
            source,
            profile=chosen.profile,
            rules=options.rules,
            jobs=options.jobs,
            cache=DirectoryCache(cached / "facts") if cached else None,
            assembler=find_assembler(cache=cached, jobs=options.jobs) if is_needed else None,
            progress=progress,
            earlier=earlier_results(baseline) if baseline else (),
            reports=KeptReports(cached / "reports") if cached else None,
            workspaces=KeptWorkspaces(cached / "workspaces") if cached else None,
        )
    finally:
        progress.finish()
    require_read(report)
    report = replace(with_rules_left_out(report, RULES), profile_reason=chosen.reason)
    report = with_levels(report, levels)
    comparison = compare(report, baseline) if baseline else None
    _write(options, _rendered(options, report, comparison, source))
    return RESULTS if fails(options.fail_on, report, comparison) else CLEAN


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


def fails(fail_on: str, report: ScanReport, comparison: Comparison | None) -> bool:
    """Tell whether the scan holds results that `--fail-on` names, suppressed ones and level none aside."""
    if fail_on == "any":
        return any(_counts(result) for result in report.results)
    if fail_on == "new" and comparison:
        return any(
            compared.state is BaselineState.NEW
            or (compared.earlier and is_suppressed_in_source(compared.earlier))
            for compared in comparison.results
            if _counts(compared.result)
        )
    return False


def _counts(result: Result) -> bool:
    return result.level is not Level.NONE and not is_suppressed(result)


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


def complain(text: str) -> None:
    """Say on standard error what is wrong, in one line whatever names it holds."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"ferroaudit: {visible(text)}\n")


def _rendered(
    options: Options, report: ScanReport, comparison: Comparison | None, source: Source
) -> Iterable[str]:
    # Each format loads what it is written with, and no other one.
    if options.output_format == "json":
        from audit.scanner.output.json_report import json_document

        return [json_text(json_document(report, RULES, comparison))]
    if options.is_for_github:
        from audit.scanner.output.github import github_log

        made = github_log(report, RULES, _texts(source, report), comparison)
        for remark in made.remarks:
            complain(remark)
        return [json_text(made.log)]
    if options.output_format == "sarif":
        from audit.scanner.output.sarif import sarif_log

        return [json_text(sarif_log(report, RULES, comparison))]
    from audit.scanner.output.text import text_lines

    style = Style() if options.output else style_for(sys.stdout)
    return text_lines(report, RULES, _texts(source, report), style, comparison)


def _texts(source: Source, report: ScanReport) -> SourceTexts:
    return read_texts(source, report, paths_shown(report)) if report.results else {}


def _write(options: Options, lines: Iterable[str]) -> None:
    if options.output:
        write_file(options.output, lines)
        return
    write_stdout(lines)

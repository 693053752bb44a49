"""`python -m audit.scanner`: scan, compare, show, and say by the exit status whether it is clean."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from audit.rules import RULES
from audit.scanner.arguments import Options, parse_arguments
from audit.scanner.complaints import complain, complain_of_defect
from audit.scanner.errors import ScanError
from audit.scanner.output.json_text import json_lines
from audit.scanner.output.source_text import SourceTexts, paths_shown, read_texts
from audit.scanner.output.style import Style, style_for
from audit.scanner.output.writing import check_stdout, check_writable, write_file, write_stdout
from audit.scanner.report import BaselineState, Level, Result, ScanReport
from audit.scanner.scanning import Scanning
from audit.scanner.source.base import Source
from audit.scanner.source.opening import open_source
from audit.scanner.suppression import is_suppressed, is_suppressed_in_source

if TYPE_CHECKING:
    from audit.scanner.baseline import Comparison

CLEAN, RESULTS, FAILED, INTERRUPTED = 0, 1, 2, 130
_LAST_STANDARD_STREAM = 2


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
        complain_of_defect(error)
    return FAILED


def run(options: Options) -> int:
    """Do what the command line asks for."""
    if options.output:
        check_writable(options.output)
    else:
        check_stdout("--output")
    scanning = Scanning(options)
    if options.is_watching:
        # What nobody watches is not loaded.
        from audit.scanner.watch import watch

        return watch(scanning)
    source = open_source(options.path, options.revision)
    report = scanning.scan(source, earlier=scanning.earlier)
    comparison = scanning.compared(report)
    _write(options, _rendered(options, report, comparison, source))
    return RESULTS if fails(options.fail_on, report, comparison) else CLEAN


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


def _rendered(
    options: Options, report: ScanReport, comparison: Comparison | None, source: Source
) -> Iterable[str]:
    # Each format loads what it is written with, and no other one.
    if options.output_format == "json":
        from audit.scanner.output.json_report import json_document

        return json_lines(json_document(report, RULES, comparison))
    if options.is_for_github:
        from audit.scanner.output.github import github_log

        made = github_log(report, RULES, _texts(source, report), comparison)
        for remark in made.remarks:
            complain(remark)
        return json_lines(made.log)
    if options.output_format == "sarif":
        from audit.scanner.output.sarif import sarif_lines

        return sarif_lines(report, RULES, comparison)
    from audit.scanner.output.text import text_lines

    style = Style() if options.output else style_for(sys.stdout)
    return text_lines(report, RULES, _texts(source, report), style, comparison)


def _texts(source: Source, report: ScanReport) -> SourceTexts:
    return read_texts(source, report, paths_shown(report.results)) if report.results else {}


def _write(options: Options, lines: Iterable[str]) -> None:
    if options.output:
        write_file(options.output, lines)
        return
    write_stdout(lines)

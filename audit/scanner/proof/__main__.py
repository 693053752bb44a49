"""`python -m audit.scanner.proof PATH (--function NAME | --since REV)`: the policy's mechanical checks."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from audit.scanner.cache import DirectoryCache
from audit.scanner.errors import ScanError
from audit.scanner.profile_choice import profile_for
from audit.scanner.proof.markdown import as_markdown
from audit.scanner.proof.mechanical import (
    MechanicalReport,
    as_document,
    report_changes,
    report_function,
)
from audit.scanner.proof.runs import read_runs
from audit.scanner.scanning import cache_folder
from audit.scanner.source.opening import open_source

HOLDS, DOES_NOT_HOLD, FAILED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Report; exit 1 where a check does not hold, unless that is not asked for."""
    parser = argparse.ArgumentParser(prog="python -m audit.scanner.proof", description=__doc__)
    parser.add_argument("path", type=Path, help="a folder or a git repository, bare too")
    parser.add_argument("--rev", default="", help="a branch, tag or commit; else what is there")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--function", help="a function's name: the whole symbol, or its end")
    what.add_argument("--since", help="a revision: the functions that changed since then")
    parser.add_argument("--profile", default="", help="a profile's name or file")
    parser.add_argument("--runs", type=Path, help="a JSON file with what GPU runs showed, from the web app")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--no-fail", action="store_true", help="exit 0 also where a check does not hold")
    options = parser.parse_args(arguments)
    try:
        report = _report(options)
        if options.function is not None and not report.functions:
            # A misspelt name would else be one of which every check holds.
            raise ScanError(
                f"no function that has to do with the GPU is called {options.function!r} in {options.path}"
            )
    except (ScanError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return FAILED
    text = (
        as_markdown(report)
        if options.format == "markdown"
        else json.dumps(as_document(report), indent=1) + "\n"
    )
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")
    return HOLDS if report.is_done or options.no_fail else DOES_NOT_HOLD


def _report(options: argparse.Namespace) -> MechanicalReport:
    source = open_source(options.path, options.rev)
    profile = profile_for(source, options.profile).profile
    folder = cache_folder()
    cache = DirectoryCache(folder / "facts") if folder else None
    words = read_runs(options.runs) if options.runs else None
    if options.function:
        return report_function(
            source, options.function, profile=profile, cache=cache, words=words, commit=options.rev
        )
    before = open_source(options.path, options.since)
    return report_changes(
        before, source, profile=profile, cache=cache, words=words, commit=options.rev, since=options.since
    )


if __name__ == "__main__":
    sys.exit(main())

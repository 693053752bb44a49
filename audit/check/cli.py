"""`python -m audit.check`: does a change add a place where GPU code computes on the CPU?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from audit.check.checking import Check, check_range
from audit.check.commits import find_range
from audit.check.markdown import MOST_CHARACTERS, markdown_of
from audit.rules import RULES
from audit.scanner.arguments import (
    CommandParser,
    add_level_option,
    default_jobs,
    levels_given,
    positive,
)
from audit.scanner.cache import DirectoryCache
from audit.scanner.cli import CLEAN, FAILED, INTERRUPTED, RESULTS, fails
from audit.scanner.complaints import complain
from audit.scanner.errors import ScanError
from audit.scanner.output.github import github_log
from audit.scanner.output.json_text import json_lines
from audit.scanner.output.sarif import sarif_lines
from audit.scanner.output.source_text import paths_shown, read_texts
from audit.scanner.output.writing import check_stdout, check_writable, write_file, write_stdout
from audit.scanner.profile_choice import profile_for
from audit.scanner.progress import ProgressBar
from audit.scanner.proof.markdown import as_section
from audit.scanner.proof.mechanical import report_changes
from audit.scanner.proof.runs import read_runs
from audit.scanner.scanning import cache_folder, require_read
from audit.scanner.source.opening import open_source

_EPILOG = """\
exit status:
  0  clean: the change adds nothing that --fail-on names
  1  it does
  2  wrong usage, or a scan could not be done

examples:
  python -m audit.check origin/main HEAD
  python -m audit.check origin/main HEAD --sarif check.sarif --markdown comment.md
  python -m audit.check origin/main HEAD --body description.md
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = _parser()
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    for name, value in (("BASE", given.base), ("HEAD", given.head)):
        if not value:
            # A variable that a script forgot to set: HEAD against itself would find nothing new.
            parser.error(f"{name} is empty")
    given.level = levels_given(given.level, RULES, parser)
    try:
        return _run(given)
    except ScanError as error:
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        # Status 1 would say "results": a defect of ours is a failed check.
        complain(f"internal error: {type(error).__name__}: {error}")
        return FAILED


def _run(given: argparse.Namespace) -> int:
    for target in (given.sarif, given.markdown):
        if target:
            check_writable(target)
    if not given.markdown:
        check_stdout("--markdown")
    change = find_range(given.repository, given.base, given.head)
    progress = ProgressBar(sys.stderr)
    try:
        check = check_range(
            given.repository,
            change,
            profile=given.profile,
            rules=RULES,
            jobs=given.jobs,
            cache=None if given.no_cache else cache_folder(),
            progress=progress,
            description=_text_of(given.body) if given.body else "",
            levels=given.level,
        )
    finally:
        progress.finish()
    require_read(check.report)
    text = markdown_of(check, RULES)
    if given.mechanical:
        text += f"\n{_mechanical(given, check, MOST_CHARACTERS - len(text) - 1)}"
    if given.sarif:
        write_file(given.sarif, _sarif(check, is_for_github=given.sarif_for == "github"))
    if given.markdown:
        write_file(given.markdown, [text])
    else:
        write_stdout([text.removesuffix("\n")])
    return RESULTS if fails(given.fail_on, check.report, check.comparison) else CLEAN


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise ScanError(f"{path} can't be read: {error.strerror}.") from error


def _mechanical(given: argparse.Namespace, check: Check, most_characters: int) -> str:
    """Write the policy's checks 4a to 4e of the functions that the change touches."""
    folder = None if given.no_cache else cache_folder()
    report = report_changes(
        open_source(given.repository, check.change.start),
        check.source,
        profile=profile_for(check.source, given.profile).profile,
        cache=DirectoryCache(folder / "facts") if folder else None,
        words=read_runs(given.runs) if given.runs else None,
        commit=check.change.head[:9],
        since=check.change.start[:9],
    )
    return as_section(report, most_characters=max(most_characters, 0))


def _sarif(check: Check, *, is_for_github: bool) -> Iterator[str]:
    if not is_for_github:
        return sarif_lines(check.report, RULES, check.comparison)
    texts = (
        read_texts(check.source, check.report, paths_shown(check.report.results))
        if check.report.results
        else {}
    )
    made = github_log(check.report, RULES, texts, check.comparison)
    for remark in made.remarks:
        complain(remark)
    return json_lines(made.log)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m audit.check",
        description="Compare the head of a pull request with its base: scan both, nothing is checked out.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("base", metavar="BASE", help="what it is to be merged into, such as origin/main")
    parser.add_argument("head", metavar="HEAD", help="the change")
    parser.add_argument(
        "--repository", metavar="PATH", type=Path, default=Path(), help="a git repository (default: here)"
    )
    parser.add_argument("--profile", metavar="NAME_OR_FILE", default="", help="as for the scanner")
    parser.add_argument("--sarif", metavar="FILE", type=Path, help="write the comparison there as SARIF")
    parser.add_argument("--sarif-for", choices=("github",), help="SARIF as GitHub code scanning reads it")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the comment there instead of standard output"
    )
    parser.add_argument(
        "--body", metavar="FILE", type=Path, help="what the pull request says: its claims are checked too"
    )
    parser.add_argument(
        "--fail-on", choices=("new", "any", "none"), default="new", help="what gives exit status 1"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=positive, default=default_jobs(), help="processes that parse"
    )
    parser.add_argument(
        "--mechanical", action="store_true", help="add the policy's checks 4a to 4e of what changed"
    )
    parser.add_argument(
        "--runs", metavar="FILE", type=Path, help="what GPU runs showed, from the web app, for --mechanical"
    )
    parser.add_argument("--no-cache", action="store_true", help="parse every file again")
    add_level_option(parser)
    return parser

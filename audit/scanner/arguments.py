"""The command line of the scanner."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from audit.rules.base import Rule
from audit.scanner.output.style import visible
from audit.scanner.profile import profile_names
from audit.scanner.report import Level

FORMATS = ("text", "json", "sarif")
FAIL_ON = ("any", "new", "none")
_MOST_JOBS = 8

_EPILOG = """\
exit status:
  0  clean: nothing that --fail-on names
  1  results that --fail-on names
  2  wrong usage, or the scan could not be done

examples:
  python -m audit.scanner .
  python -m audit.scanner repo.git --rev v1.2 --format sarif --output scan.sarif
  python -m audit.scanner . --baseline main.sarif --fail-on new
  python -m audit.scanner . --rules silent-fallback,FT003
  python -m audit.scanner . --rules -broken-ptx
  python -m audit.scanner . --level comment-only-gap=none
  python -m audit.scanner . --watch
"""


class CommandParser(argparse.ArgumentParser):
    """A parser whose complaints can't steer the terminal."""

    def error(self, message: str) -> NoReturn:
        """End the process with status 2 and one line that says why."""
        super().error(visible(message))


class Options(NamedTuple):
    """What the command line asks for."""

    path: str
    revision: str
    profile: str
    output_format: str
    output: Path | None
    baseline: Path | None
    fail_on: str
    rules: tuple[Rule, ...]
    jobs: int
    uses_cache: bool
    is_for_github: bool
    levels: Mapping[str, Level]
    is_watching: bool = False


def parse_arguments(arguments: Sequence[str], rules: Sequence[Rule]) -> Options:
    """Parse the command line; wrong usage ends the process with status 2."""
    parser = _parser()
    given = parser.parse_args(_with_values_joined(arguments))
    # An empty value is a variable that a script forgot to set: it must not mean the default.
    for name, value in (("PATH", given.path), ("--rev", given.rev), ("--profile", given.profile)):
        if value == "":
            parser.error(f"{name} is empty")
    if given.sarif_for and given.output_format not in (None, "sarif"):
        parser.error("--sarif-for needs --format sarif")
    if given.fail_on == "new" and given.baseline is None:
        parser.error("--fail-on new needs --baseline: without one there is nothing to be new against")
    if given.watch:
        _require_watchable(given, parser)
    return Options(
        path=given.path,
        revision=given.rev or "",
        profile=given.profile or "",
        output_format=given.output_format or ("sarif" if given.sarif_for else "text"),
        output=given.output,
        baseline=given.baseline,
        fail_on=given.fail_on or "any",
        rules=_selected(given.rules, rules, parser),
        jobs=given.jobs,
        uses_cache=not given.no_cache,
        is_for_github=given.sarif_for == "github",
        levels=levels_given(given.level, rules, parser),
        is_watching=given.watch,
    )


def _require_watchable(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse what makes no sense together with `--watch`."""
    reasons = {
        "--rev": (given.rev, "a commit never changes"),
        "--output": (given.output, "it prints each change as text; a file is written by a scan without it"),
        "--format": (given.output_format not in (None, "text"), "it prints each change as text"),
        "--sarif-for": (given.sarif_for, "it prints each change as text"),
        "--fail-on": (given.fail_on, "it goes on until it is interrupted, and has no other exit status"),
    }
    for option, (is_given, reason) in reasons.items():
        if is_given:
            parser.error(f"--watch does not go with {option}: {reason}")


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m audit.scanner",
        description="Find the places where Rust GPU code computes on the CPU in silence.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("path", metavar="PATH", help="a folder, a Rust file or a git repository (bare too)")
    parser.add_argument(
        "--rev", metavar="REV", help="scan this commit of the repository; nothing is checked out"
    )
    parser.add_argument(
        "--profile",
        metavar="NAME_OR_FILE",
        help=f"a profile file (TOML), or one of: {', '.join(profile_names())} "
        "(default: the one that fits what Cargo.toml depends on)",
    )
    parser.add_argument(
        "--format", dest="output_format", choices=FORMATS, help="text (default), json or sarif"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write there instead of standard output")
    parser.add_argument(
        "--baseline", metavar="FILE.sarif", type=Path, help="compare with the SARIF file of an earlier scan"
    )
    parser.add_argument("--fail-on", choices=FAIL_ON, help="which results give exit status 1 (default: any)")
    parser.add_argument(
        "--rules", metavar="a,b or -a,-b", help="rules to run, or to leave out, by name or id (default: all)"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=positive, default=default_jobs(), help="processes that parse"
    )
    parser.add_argument("--no-cache", action="store_true", help="parse every file again")
    parser.add_argument("--sarif-for", choices=("github",), help="SARIF as GitHub code scanning reads it")
    parser.add_argument("--watch", action="store_true", help="stay, and scan again at each change of a file")
    add_level_option(parser)
    return parser


def add_level_option(parser: argparse.ArgumentParser) -> None:
    """Let a command line give rules other levels than their own."""
    parser.add_argument(
        "--level",
        metavar="RULE=LEVEL",
        action="append",
        default=[],
        help="give a rule another level (error, warning, note, none), by name or id; none fails no check",
    )


def levels_given(
    words: Sequence[str], rules: Sequence[Rule], parser: argparse.ArgumentParser
) -> dict[str, Level]:
    """Return the levels that `--level` names, by the ids of rules."""
    levels: dict[str, Level] = {}
    for word in words:
        name, _, level = word.partition("=")
        if level not in tuple(Level):
            parser.error(f"--level: {word!r} is not RULE=LEVEL; levels are {', '.join(reversed(Level))}")
        rule_id = _named(name, rules, parser, option="--level")
        if rule_id in levels:
            parser.error(f"--level names {name} twice")
        levels[rule_id] = Level(level)
    return levels


def _with_values_joined(arguments: Sequence[str]) -> list[str]:
    """Join `--rules` and `--rev` with what follows: it is a value even when it begins with a dash."""
    joined: list[str] = []
    words = iter(arguments)
    for word in words:
        value = next(words, None) if word in ("--rules", "--rev") else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


def positive(text: str) -> int:
    """Read a number from 1 on, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def default_jobs() -> int:
    """Return as many processes as there are cores, within reason."""
    return min(len(os.sched_getaffinity(0)), _MOST_JOBS)


def _selected(text: str | None, rules: Sequence[Rule], parser: argparse.ArgumentParser) -> tuple[Rule, ...]:
    """Return the rules that a list of names runs, in their own order."""
    if text is None:
        return tuple(rules)
    words = [word.strip() for word in text.split(",") if word.strip()]
    left_out = [word.removeprefix("-") for word in words if word.startswith("-")]
    if not words:
        parser.error("--rules names no rule")
    if left_out and len(left_out) != len(words):
        parser.error("--rules takes rules to run (a,b) or rules to leave out (-a,-b), not both")
    named = {_named(word.removeprefix("-"), rules, parser) for word in words}
    chosen = tuple(rule for rule in rules if (rule.id in named) is not bool(left_out))
    if not chosen:
        parser.error("--rules leaves no rule to run")
    return chosen


def _named(word: str, rules: Sequence[Rule], parser: argparse.ArgumentParser, option: str = "--rules") -> str:
    known = {key: rule.id for rule in rules for key in (rule.name, rule.id, rule.id.lower())}
    if word not in known:
        names = [rule.name for rule in rules]
        import difflib

        near = difflib.get_close_matches(word, names, 1)
        advice = f"did you mean {near[0]}?" if near else f"the rules are {', '.join(names)}"
        parser.error(f"{option}: {word!r} is no rule; {advice}")
    return known[word]

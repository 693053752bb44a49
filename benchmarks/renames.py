"""Rename files in real commits, and say which sites are known again.

    python -m benchmarks.renames named REPO COMMIT:OLD:NEW ...
    python -m benchmarks.renames injected REPO [--branch B] [--every N] [--skip N] [--seed N]

REPO is a clone. `named` takes renames that its history has: the sites of the old file in the commit's first
parent, and what each is at the commit. `injected` takes each commit (or every Nth) and renames one more file,
or moves it into a folder of its own, drawn from those with sites that the commit left alone; every reference
in its crate follows. What is not known again there, though it is without the rename, is lost; what is new
only with the rename is doubled.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path
from posixpath import basename, dirname

from audit.rules import RULES
from audit.scanner.cache import DirectoryCache
from audit.scanner.line import earlier_results
from audit.scanner.matching import KnownSite, Match, match_results
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.report import Result, ScanReport
from audit.scanner.source.base import Content, Source
from audit.scanner.source.git_command import run_git
from audit.scanner.source.memory import MemorySource
from audit.scanner.source.opening import open_source

_RULES = [rule for rule in RULES if not rule.needs_assembler]
_NOT_MOVED = frozenset({"lib.rs", "main.rs", "mod.rs", "build.rs"})
_KEPT_REPORTS = 8


class Scanner:
    """Scans commits and trees, and keeps what it read of each file."""

    def __init__(self, repository: str, cache: Path) -> None:
        self.repository = repository
        self._cache = DirectoryCache(cache)
        self._reports: dict[str, ScanReport] = {}

    def of(self, source: Source, before: Sequence[Result] = ()) -> ScanReport:
        """Scan a tree, and ask what became of the results before it."""
        profile = profile_for(source).profile
        earlier = earlier_results(before)
        return scan(source, profile=profile, rules=_RULES, cache=self._cache, earlier=earlier)

    def at(self, revision: str, before: Sequence[Result] = ()) -> ScanReport:
        """Scan a commit."""
        return self.of(open_source(self.repository, revision), before)

    def results(self, object_id: str) -> Sequence[Result]:
        """Return the results of a commit; what is asked for again soon after is not scanned again."""
        if object_id not in self._reports:
            self._reports[object_id] = self.at(object_id)
        # A commit is asked for again as the parent of the next one.
        for old in list(self._reports)[:-_KEPT_REPORTS]:
            del self._reports[old]
        return self._reports[object_id].results

    def files(self, revision: str) -> dict[str, bytes]:
        """Read the files of a commit."""
        source = open_source(self.repository, revision)
        wanted = [entry for entry in source.entries() if not entry.skip_reason]
        return {
            file.path: content.data for file, content in source.read(wanted) if isinstance(content, Content)
        }

    def git(self, *arguments: str) -> list[str]:
        """Ask git for lines."""
        return run_git("-C", self.repository, *arguments).output.decode().split("\n")


def matched(before: Sequence[Result], after: Sequence[Result], paths: Container[str]) -> list[Match]:
    """Recognise the results before among those after; `paths` are the files that there are after."""
    known = [
        KnownSite(
            number,
            one.rule_id,
            one.symbol,
            one.path,
            one.partial_fingerprints,
            may_have_changed=True,
            start_line=one.region.start_line,
            file_is_gone=one.path not in paths,
        )
        for number, one in enumerate(before)
    ]
    codes = {number: one.snippet for number, one in enumerate(before)}
    return match_results(known, after, lambda wanted: {key: codes[key] for key in wanted})


def named(scanner: Scanner, renames: Sequence[str]) -> None:
    """Print what became of the sites of files that were renamed."""
    by_commit: dict[str, list[tuple[str, str]]] = {}
    for text in renames:
        commit, old, new = text.split(":")
        by_commit.setdefault(commit, []).append((old, new))
    for commit, pairs in by_commit.items():
        before = scanner.at(f"{commit}^").results
        report = scanner.at(commit, before)
        found = {match.site_id: match for match in matched(before, report.results, scanner.files(commit))}
        for old, new in pairs:
            sites = [number for number, one in enumerate(before) if one.path == old]
            kept = [number for number in sites if number in found]
            print(f"\n{commit} {old} -> {new}: {len(sites)} sites, {len(kept)} kept")
            for number in sites:
                print(f"   {before[number].rule_id} {before[number].symbol}: {_fate(number, found, report)}")


def _fate(number: int, found: dict[int | None, Match], report: ScanReport) -> str:
    if number in found:
        match = found[number]
        return f"the same site ({match.match_pass.value}) in {report.results[match.result].path}"
    outcome = report.outcomes.get(number)
    return f"{outcome.outcome.value}: {outcome.text}" if outcome is not None else "absent, without outcome"


def injected(scanner: Scanner, branch: str, every: int, skip: int, seed: int) -> None:
    """Inject a rename into commits and print what was kept, lost and doubled."""
    commits = [
        line.split(" ")
        for line in scanner.git("log", "--topo-order", "--reverse", "--format=%H %P", branch or "HEAD")
        if " " in line
    ]
    sums: Counter[str] = Counter()
    for commit, parent, *_ in commits[skip::every]:
        # What is drawn for a commit depends on no other: a run can go on where another ended.
        draw = random.Random(f"{seed} {commit}")
        if (one := inject(scanner, commit, parent, draw)) is None:
            sums["commits without a file to rename"] += 1
            continue
        sums += one
        print(f"{commit[:9]} {dict(one)}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sums.items()))


def inject(scanner: Scanner, commit: str, parent: str, draw: random.Random) -> Counter[str] | None:
    """Rename one file in a commit, and count the sites of that file."""
    files = scanner.files(commit)
    before = scanner.results(parent)
    changed = set(scanner.git("diff", "--name-only", "--no-renames", parent, commit))
    candidates = sorted(
        {one.path for one in before if _may_move(one.path, files) and one.path not in changed}
    )
    if not candidates:
        return None
    old = draw.choice(candidates)
    is_move = draw.random() < 0.5
    renamed = _renamed(files, old, is_move)
    plain = scanner.results(commit)
    moved = scanner.of(MemorySource(renamed)).results
    without, with_it = matched(before, plain, files), matched(before, moved, renamed)
    in_file = {number for number, one in enumerate(before) if one.path == old}
    kept_without = {match.site_id for match in without if match.site_id is not None} & in_file
    kept = {match.site_id for match in with_it if match.site_id is not None} & in_file
    new_without = sum(match.site_id is None for match in without)
    for number in sorted(kept_without - kept):
        one = before[number]
        print(f"lost: {one.rule_id} {one.symbol} {one.path}:{one.region.start_line}, {old} renamed")
    return Counter(
        {
            "commits": 1,
            "moves" if is_move else "renames": 1,
            "sites": len(kept_without),
            "kept": len(kept_without & kept),
            "lost": len(kept_without - kept),
            "doubled": max(sum(match.site_id is None for match in with_it) - new_without, 0),
        }
    )


def _may_move(path: str, files: dict[str, bytes]) -> bool:
    if path not in files or basename(path) in _NOT_MOVED or "/src/" not in path:
        return False
    # A file with submodules in a folder beside it takes more than one rename.
    return not any(other.startswith(f"{path.removesuffix('.rs')}/") for other in files)


def _renamed(files: dict[str, bytes], old: str, is_move: bool) -> dict[str, bytes]:
    """Return the files with one renamed, or moved into a folder, and its module's name after it."""
    name = basename(old).removesuffix(".rs")
    new_name = f"{name}_kept" if is_move else f"{name}_renamed"
    new = f"{dirname(old)}/{new_name}/mod.rs" if is_move else f"{dirname(old)}/{new_name}.rs"
    root = old.partition("/src/")[0] + "/"
    # Other crates name it from the root of its crate.
    modules = "::".join(
        (basename(root[:-1]).replace("-", "_"), *dirname(old).partition("/src")[2].split("/")[1:])
    )
    outside = re.compile(rb"\b(%b::)%b\b" % (modules.encode(), name.encode()))
    word = re.compile(rb"(?<=::)%b\b(?=::|;|,|\s*\{)|\b%b(?=::)|(?<=mod )%b(?=;)" % ((name.encode(),) * 3))
    return {
        (new if path == old else path): _with_name(path, data, root, word, outside, new_name.encode())
        for path, data in files.items()
    }


def _with_name(
    path: str, data: bytes, root: str, word: re.Pattern[bytes], outside: re.Pattern[bytes], new_name: bytes
) -> bytes:
    if not path.endswith(".rs"):
        return data
    return word.sub(new_name, data) if path.startswith(root) else outside.sub(rb"\1" + new_name, data)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description="Say which sites are known again after renames.")
    modes = parser.add_subparsers(dest="mode", required=True)
    of_history = modes.add_parser("named")
    of_history.add_argument("repository")
    of_history.add_argument("renames", nargs="+", metavar="COMMIT:OLD:NEW")
    made = modes.add_parser("injected")
    made.add_argument("repository")
    made.add_argument("--branch", default="")
    made.add_argument("--every", type=int, default=1)
    made.add_argument("--skip", type=int, default=0, help="leave so many commits out from the first")
    made.add_argument("--seed", type=int, default=20261128)
    for mode in (of_history, made):
        mode.add_argument("--cache", type=Path, help="keep what is read of files in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scanner = Scanner(os.fspath(Path(arguments.repository)), arguments.cache or Path(temporary))
        if arguments.mode == "named":
            named(scanner, arguments.renames)
        else:
            injected(scanner, arguments.branch, arguments.every, arguments.skip, arguments.seed)


if __name__ == "__main__":
    main()

"""Draw a seeded sample of a scan's results, with the code around them, for a person to judge.

    python benchmarks/sample_results.py REPO [--rev REV] [--profile NAME_OR_FILE] [--seed N] [--size N]

Results are sorted by path, line and rule before `random.Random(seed).sample` draws from them: the same
commit, profile and scanner give the same sample. `broken-ptx` is left out: the assembler judges it.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from audit.rules import RULES  # noqa: E402
from audit.scanner.cache import DirectoryCache  # noqa: E402
from audit.scanner.pipeline import scan  # noqa: E402
from audit.scanner.profile_choice import profile_for  # noqa: E402
from audit.scanner.report import Result  # noqa: E402
from audit.scanner.scanning import cache_folder  # noqa: E402
from audit.scanner.source.base import Content, Source  # noqa: E402
from audit.scanner.source.opening import open_source  # noqa: E402

SEED, SIZE = 20261127, 20
_NAMES = {rule.id: rule.name for rule in RULES}


def draw(results: tuple[Result, ...], seed: int, size: int) -> list[Result]:
    """Return a sample of the results (all, when there are no more), sorted."""
    ordered = sorted(results, key=_place)
    chosen = ordered if len(ordered) <= size else random.Random(seed).sample(ordered, size)
    return sorted(chosen, key=_place)


def shown(result: Result, texts: dict[str, list[str]], around: int) -> Iterator[str]:
    """Yield the lines that show a result: what it says, its evidence, the code around it."""
    place = f"{result.path}:{result.region.start_line}"
    yield f"{result.rule_id} {_NAMES[result.rule_id]} [{result.form}] {place}"
    yield f"   {result.symbol}: {result.message}"
    for step in result.evidence:
        yield f"   {step.role} {step.path}:{step.region.start_line} {step.message}"
    lines = texts.get(result.path, [])
    first, last = result.region.start_line, result.region.end_line
    for number in range(max(1, first - around), min(len(lines), last + around) + 1):
        mark = ">" if first <= number <= last else " "
        yield f"   {mark} {number:5} {lines[number - 1]}"


def main() -> None:
    """Scan, draw and print."""
    parser = argparse.ArgumentParser(description="Draw results to judge, with the code around them.")
    parser.add_argument("repository")
    parser.add_argument("--rev", default="")
    parser.add_argument("--profile", default="")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--around", type=int, default=12, help="lines of code before and after")
    arguments = parser.parse_args()
    source = open_source(arguments.repository, arguments.rev)
    chosen = profile_for(source, arguments.profile)
    kept = cache_folder()
    report = scan(
        source,
        profile=chosen.profile,
        rules=[rule for rule in RULES if not rule.needs_assembler],
        cache=DirectoryCache(kept / "facts") if kept else None,
    )
    sample = draw(report.results, arguments.seed, arguments.size)
    texts = _texts(source, {result.path for result in sample})
    print(f"commit {report.source.commit_id or 'none'}, profile {report.profile_name} ({chosen.reason})")
    counts = collections.Counter(_NAMES[result.rule_id] for result in report.results)
    counted = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
    print(f"{len(report.results)} results in {report.duration_seconds:.1f} s: {counted or 'none'}")
    print(f"{len(sample)} drawn with seed {arguments.seed}")
    for number, result in enumerate(sample, 1):
        print(f"\n{number}. " + "\n".join(shown(result, texts, arguments.around)))


def _place(result: Result) -> tuple[str, int, str, int]:
    return (result.path, result.region.start_line, result.rule_id, result.region.start_column)


def _texts(source: Source, paths: set[str]) -> dict[str, list[str]]:
    files = [file for file in source.entries() if file.path in paths]
    return {
        file.path: content.data.decode("utf-8", "replace").splitlines()
        for file, content in source.read(files)
        if isinstance(content, Content)
    }


if __name__ == "__main__":
    main()

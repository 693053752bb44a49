"""How often the most similar code has the same rule and form, by ways to tell likeness."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from time import process_time

from audit.knowledge.likeness import likeness, shingles, sketch
from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.report import Result
from audit.scanner.source.opening import open_source

Measure = Callable[[Collection[int], Collection[int]], float]


def main() -> None:
    """Scan, and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rev", default="HEAD")
    parser.add_argument("--every", type=int, default=3, help="take every Nth result")
    arguments = parser.parse_args()
    source = open_source(arguments.path, arguments.rev)
    rules = [rule for rule in RULES if not rule.needs_assembler]
    report = scan(source, profile=profile_for(source, "").profile, rules=rules, jobs=1, cache=None)
    results = [result for result in report.results if result.snippet][:: arguments.every]
    print(f"{len(results)} results")
    show("sketch", results, lambda text: sketch(text), likeness)
    show("all hashes", results, shingles, _shared)
    show("trigrams of the text", results, _trigrams, _shared)


def show(
    name: str, results: Sequence[Result], read: Callable[[str], Collection[int]], measure: Measure
) -> None:
    """Print how often the nearest other result has the same rule and form."""
    started = process_time()
    known = [read(result.snippet) for result in results]
    same = 0
    for at, mine in enumerate(known):
        others = (number for number in range(len(known)) if number != at)
        nearest = results[max(others, key=lambda number: measure(mine, known[number]))]
        same += (nearest.rule_id, nearest.form) == (results[at].rule_id, results[at].form)
    print(f"{name:24} {same / len(results):6.1%}  {process_time() - started:5.1f} s CPU")


def _trigrams(text: str) -> frozenset[int]:
    squeezed = " ".join(text.split()).lower()
    return frozenset(hash(squeezed[at : at + 3]) for at in range(len(squeezed) - 2))


def _shared(one: Collection[int], other: Collection[int]) -> float:
    first, second = set(one), set(other)
    return len(first & second) / max(1, len(first | second))


if __name__ == "__main__":
    main()

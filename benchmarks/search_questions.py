"""Ask the twenty questions of `search_questions.toml`: `python -m benchmarks.search_questions`.

They are asked of an empty installation that has the sites the file names: policy, rules, forms and operators
are those that are shipped. Exits with 1 when fewer than 18 have a right entry among the first three.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.database import database

FILE = Path(__file__).with_suffix(".toml")
WANTED, LOOKED_AT = 18, 3


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents that answer it, by kind and key; a site by its symbol."""

    asks: str
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what came first."""

    question: Question
    first: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether a right entry is among the first three."""
        return any(name in self.question.right for name in self.first[:LOOKED_AT])


def questions(part: str = "question") -> list[Question]:
    """Read the questions, or those that were held out (`held_out`)."""
    return [Question(row["asks"], tuple(row["right"])) for row in tomllib.loads(FILE.read_text())[part]]


def site_names() -> list[str]:
    """Read the symbols of the sites that have to be there."""
    names: list[str] = tomllib.loads(FILE.read_text())["sites"]
    return names


def ask_all(part: str = "question") -> list[Asked]:
    """Ask every question of the index as it is."""
    from migrations_tracker.selectors.search import SearchFilters, search

    asked = []
    for question in questions(part):
        hits = search(filters=SearchFilters(question=question.asks)).hits
        # A site's key is a number that the database gave it; its title is the symbol.
        first = tuple(f"{hit.kind}:{hit.title if hit.kind == 'site' else hit.key}" for hit in hits[:5])
        asked.append(Asked(question, first))
    return asked


def main() -> int:
    """Print each question with what came first."""
    with database():
        from migrations_tracker.services.search import search_refresh
        from tests.factories import ingest, make_report, make_repository, make_result

        results = [make_result(name, line=number * 10) for number, name in enumerate(site_names(), 1)]
        ingest(make_repository(), make_report(results))
        search_refresh()
        asked, held_out = ask_all(), ask_all("held_out")
    right = _told(asked, "of the questions")
    _told(held_out, "of those held out")
    return 0 if right >= WANTED else 1


def _told(asked: Sequence[Asked], which: str) -> int:
    for one in asked:
        print(f"{'right' if one.is_right else 'WRONG'}\t{one.question.asks}\t{', '.join(one.first[:3])}")
    right = sum(one.is_right for one in asked)
    print(f"{right} of {len(asked)} {which} have a right entry among the first {LOOKED_AT}")
    return right


if __name__ == "__main__":
    sys.exit(main())

"""Rulings as labels: lines of JSON that say of places in the code whether a rule is right about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

JSON_LINES = "application/jsonl; charset=utf-8"
# A person ruled, who does not say how sure.
RULED = 1.0


class LabelVerdict(StrEnum):
    """What a label says of a place: that the rule is right about it, or that it only looks so."""

    VIOLATION = "violation"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class Label:
    """A place at a commit, and what a person ruled of it. `symbol` is the item's name without its path."""

    path: str
    line: int
    end_line: int
    symbol: str
    rule: str
    form: str
    verdict: LabelVerdict
    why: str
    commit: str
    confidence: float = RULED


def label_lines(labels: Iterable[Label]) -> Iterator[str]:
    """Yield each label as a line of JSON; a form that is not known is left out."""
    for label in labels:
        row = {name: value for name, value in asdict(label).items() if value != "" or name == "symbol"}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def item_name(symbol: str) -> str:
    """Return the last name of a symbol's path, of a macro without its mark."""
    return symbol.rpartition("::")[2].rstrip("!")

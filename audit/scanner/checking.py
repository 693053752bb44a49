"""Let rules look at a linked workspace, half of them in a copy of this process where there are two."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from audit.scanner.link.recall import Recalled
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.processes import ForkedCopy

if TYPE_CHECKING:
    # Every rule imports the judge, which imports this module: whoever comes first must not get half of it.
    from audit.rules.base import Rule
    from audit.scanner.judge import Candidate, Judgement

# About half of the work, which shares little with the other half: what tests reach, and what texts say.
_BESIDE = frozenset(
    {"missing-gpu-test", "disabled-gpu-test", "dishonest-report", "unstructured-error", "kernel-in-core"}
)


def candidates_of(
    judgement: Judgement, rules: Sequence[Rule], jobs: int, recalled: Recalled | None = None
) -> list[list[Candidate]]:
    """Return what each rule sees, in the order of the rules and of the tree.

    What a copy of this process finds out about files on its way is handed to `recalled`.
    """
    beside = [rule for rule in rules if rule.name in _BESIDE] if jobs > 1 else []
    if not beside or len(beside) == len(rules):
        return [list(rule.check(judgement)) for rule in rules]

    def work() -> bytes:
        found = dump_candidates([list(rule.check(judgement)) for rule in beside])
        return marshal.dumps((found, recalled.learned() if recalled is not None else {}))

    with ForkedCopy(work) as copy:
        found = {rule.id: list(rule.check(judgement)) for rule in rules if rule.name not in _BESIDE}
        answer = copy.answer()
    if answer is not None:
        candidates, learned = marshal.loads(answer)  # noqa: S302  from a copy of this process
        found.update(zip((rule.id for rule in beside), load_candidates(candidates, judgement), strict=True))
        if recalled is not None:
            recalled.add(learned)
    return [found[rule.id] if rule.id in found else list(rule.check(judgement)) for rule in rules]


class _Writer(pickle.Pickler):
    """Writes files and functions by name: whoever reads it has the same workspace."""

    def persistent_id(self, thing: Any) -> tuple[str, str | int] | None:
        if isinstance(thing, Fn):
            return "function", thing.index
        return ("file", thing.path) if isinstance(thing, Unit) else None


class _Reader(pickle.Unpickler):
    def __init__(self, stream: BytesIO, judgement: Judgement) -> None:
        super().__init__(stream)
        self._functions = judgement.workspace.functions
        self._units = {unit.path: unit for unit in judgement.documents} | judgement.workspace.units

    def persistent_load(self, name: tuple[str, Any]) -> Fn | Unit:
        kind, key = name
        return self._functions[key] if kind == "function" else self._units[key]


def dump_candidates(found: list[list[Candidate]]) -> bytes:
    """Write the candidates of several rules."""
    stream = BytesIO()
    _Writer(stream, pickle.HIGHEST_PROTOCOL).dump(found)
    return stream.getvalue()


def load_candidates(data: bytes, judgement: Judgement) -> list[list[Candidate]]:
    """Read back what a copy of this process has written; nothing else may be read so."""
    found: list[list[Candidate]] = _Reader(BytesIO(data), judgement).load()
    return found

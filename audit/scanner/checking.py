"""Let rules look at a linked workspace, some of them in copies of this process where there are two."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from audit.scanner.link.recall import Recalled
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.processes import ForkedCopy

if TYPE_CHECKING:
    # Every rule imports the judge, which imports this module: whoever comes first must not get half of it.
    from audit.rules.base import Rule
    from audit.scanner.judge import Candidate, Judgement

# Of the effects of the workspace these ask what launches only, and one asks what tests reach.
_EARLY = frozenset(
    {"disabled-gpu-test", "dishonest-report", "eprintln-degrade", "kernel-in-core", "unstructured-error"}
)
_ASKS_REACH = "missing-gpu-test"
# About half of what is left when it is known what tests reach.
_BESIDE = frozenset({"comment-only-gap", "deferred-kernel", "cfg-gated-stub", "dispatch-only-dispatch"})

Found = dict[str, "list[Candidate]"]


class Checking:
    """Lets rules look at a workspace whose effects are not worked out yet; a context manager.

    Where there are two processes, a copy of this one runs what asks for no effect but the first, while this
    one works the others out; then another copy runs half of the rest. What copies find out about files on
    their way is handed to `recalled`. Whatever a copy does not deliver is done here.
    """

    def __init__(
        self, judgement: Judgement, rules: Sequence[Rule], jobs: int, recalled: Recalled | None = None
    ) -> None:
        self._judgement = judgement
        self._rules = rules
        self._recalled = recalled
        self._is_shared = jobs > 1 and any(rule.name not in _EARLY for rule in rules)
        self._running = ExitStack()
        self._early: ForkedCopy | None = None

    def __enter__(self) -> Self:
        early = self._named(_EARLY)
        if self._is_shared and (early or self._is_reach_asked):
            # Else both would work out what launches.
            self._judgement.summaries.settle_launches()
            self._early = self._running.enter_context(
                ForkedCopy(lambda: self._work(early, self._is_reach_asked))
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def candidates(self) -> list[list[Candidate]]:
        """Return what each rule sees, in the order of the rules and of the tree."""
        found: Found = {}
        if self._is_shared:
            beside = self._named(_BESIDE)
            with ForkedCopy(lambda: self._work(beside, False)) as copy:
                rest = [one for one in self._rules if one.name not in _EARLY | _BESIDE | {_ASKS_REACH}]
                found = self._check(rest)
                if self._early is not None:
                    self._take(self._early.answer(), self._named(_EARLY), found)
                found |= self._check(self._named(frozenset({_ASKS_REACH})))
                self._take(copy.answer(), beside, found)
        found |= self._check([rule for rule in self._rules if rule.id not in found])
        return [found[rule.id] for rule in self._rules]

    @property
    def _is_reach_asked(self) -> bool:
        return any(rule.name == _ASKS_REACH for rule in self._rules)

    def _named(self, names: frozenset[str]) -> list[Rule]:
        return [rule for rule in self._rules if rule.name in names]

    def _check(self, rules: Sequence[Rule]) -> Found:
        return {rule.id: list(rule.check(self._judgement)) for rule in rules}

    def _work(self, rules: Sequence[Rule], asks_reach: bool) -> bytes:
        reach = self._judgement.reach.told() if asks_reach else None
        found = dump_candidates(list(self._check(rules).values()))
        learned = self._recalled.learned() if self._recalled is not None else {}
        return marshal.dumps((found, reach, learned))

    def _take(self, answer: bytes | None, rules: Sequence[Rule], found: Found) -> None:
        if answer is None:
            return
        candidates, reach, learned = marshal.loads(answer)  # noqa: S302  from a copy of this process
        found.update(
            zip((rule.id for rule in rules), load_candidates(candidates, self._judgement), strict=True)
        )
        if reach is not None:
            self._judgement.reach.take(reach)
        if self._recalled is not None:
            self._recalled.add(learned)


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

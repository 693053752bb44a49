"""Let rules look at a linked workspace, some of them in copies of this process where there are two."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from audit.scanner.fingerprint import Identity
from audit.scanner.identity import identity_of, take_identities
from audit.scanner.link.reach import Told
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
# These ask for all effects, but for no host path.
_BESIDE = frozenset({"comment-only-gap", "deferred-kernel"})
_ASK_STAND_INS = frozenset({"silent-fallback", "ungated-warning"})

Found = dict[str, "list[Candidate]"]


class Checking:
    """Lets rules look at a workspace whose effects are not worked out yet; a context manager.

    Where there are two processes, a copy of this one runs what asks for no effect but the first, while this
    one works the others out; then another copy finds half of the host paths, and the stand-ins, and runs the
    rules that need neither. What copies find out about files on their way is handed to `recalled`. Whatever a
    copy does not deliver is done here.
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
            self._early = self._running.enter_context(ForkedCopy(lambda: self._work_early(early)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def candidates(self) -> list[list[Candidate]]:
        """Return what each rule sees, in the order of the rules and of the tree."""
        found = self._check_beside_copies() if self._is_shared else {}
        found |= self._check([rule for rule in self._rules if rule.id not in found])
        return [found[rule.id] for rule in self._rules]

    @property
    def _is_reach_asked(self) -> bool:
        return any(rule.name == _ASKS_REACH for rule in self._rules)

    def _named(self, names: frozenset[str]) -> list[Rule]:
        return [rule for rule in self._rules if rule.name in names]

    def _check(self, rules: Sequence[Rule]) -> Found:
        return {rule.id: list(rule.check(self._judgement)) for rule in rules}

    # -- here, beside copies -----------------------------------------------------------------------------

    def _check_beside_copies(self) -> Found:
        """Run the rules; those that a copy was to run and has not are left out."""
        judgement, beside = self._judgement, self._named(_BESIDE)
        asking_stand_ins = self._named(_ASK_STAND_INS)
        elsewhere = _EARLY | _BESIDE | _ASK_STAND_INS | {_ASKS_REACH}
        asking_paths = [rule for rule in self._rules if rule.name not in elsewhere]
        reading = judgement.paths.reading if asking_paths or asking_stand_ins else ()
        ours, theirs = reading[: len(reading) // 2], reading[len(reading) // 2 :]
        with ForkedCopy(lambda: self._work_beside(theirs, beside, bool(asking_stand_ins))) as copy:
            paths = judgement.paths.within(ours)
            # Meanwhile the copy finds the other half.
            found = self._taken(self._early, self._named(_EARLY)) if self._early is not None else {}
            found |= self._check(self._named(frozenset({_ASKS_REACH})))
            if reading:
                answer = copy.answer()
                others = judgement.paths.within(theirs) if answer is None else load(answer, judgement)
                judgement.paths.take((*paths, *others))
            found |= self._check(asking_paths)
            if asking_stand_ins and (answer := copy.answer()) is not None:
                judgement.stand_ins_on_failure = load(answer, judgement)
            found |= self._check(asking_stand_ins)
            found |= self._taken(copy, beside)
        return found

    def _taken(self, copy: ForkedCopy, rules: Sequence[Rule]) -> Found:
        """Return what a copy has seen with some rules, and take what it has found out on its way."""
        answer = copy.answer()
        if answer is None:
            return {}
        told, reach, learned = marshal.loads(answer)  # noqa: S302  from a copy of this process
        if reach is not None:
            self._judgement.reach.take(reach)
        if self._recalled is not None:
            self._recalled.add(learned)
        found: Found = {}
        for rule, (seen, identities) in zip(rules, load(told, self._judgement), strict=True):
            take_identities(rule, seen, identities)
            found[rule.id] = seen
        return found

    # -- in a copy ---------------------------------------------------------------------------------------

    def _work_early(self, rules: Sequence[Rule]) -> Iterator[bytes]:
        reach = self._judgement.reach.told() if self._is_reach_asked else None
        yield self._seen(rules, reach)

    def _work_beside(
        self, functions: Sequence[int], rules: Sequence[Rule], is_stand_in_asked: bool
    ) -> Iterator[bytes]:
        if functions:
            yield dump(self._judgement.paths.within(functions))
        if is_stand_in_asked:
            yield dump(self._judgement.stand_ins_on_failure)
        yield self._seen(rules)

    def _seen(self, rules: Sequence[Rule], reach: Told | None = None) -> bytes:
        told = dump([self._told(rule) for rule in rules])
        learned = self._recalled.learned() if self._recalled is not None else {}
        return marshal.dumps((told, reach, learned))

    def _told(self, rule: Rule) -> tuple[list[Candidate], list[Identity]]:
        seen = list(rule.check(self._judgement))
        return seen, [identity_of(rule, one) for one in seen]


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


def dump(found: object) -> bytes:
    """Write candidates, host paths, or other values that hold files and functions of a workspace."""
    stream = BytesIO()
    _Writer(stream, pickle.HIGHEST_PROTOCOL).dump(found)
    return stream.getvalue()


def load(data: bytes, judgement: Judgement) -> Any:
    """Read back what a copy of this process has written; nothing else may be read so."""
    return _Reader(BytesIO(data), judgement).load()

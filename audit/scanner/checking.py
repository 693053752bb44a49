"""Let rules look at a linked workspace, some of them in a copy of this process where there are two."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from audit.scanner.fingerprint import Identity
from audit.scanner.identity import identity_of, take_identities
from audit.scanner.link.recall import Recalled
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.processes import ForkedCopy, Hear

if TYPE_CHECKING:
    # Every rule imports the judge, which imports this module: whoever comes first must not get half of it.
    from audit.rules.base import Rule
    from audit.scanner.judge import Candidate, Judgement

# What the copy runs, by the effects of the workspace that it takes: these ask what launches only.
_EARLY = frozenset(
    {"disabled-gpu-test", "dishonest-report", "eprintln-degrade", "kernel-in-core", "unstructured-error"}
)
# These ask what refuses device data, too.
_NEXT = frozenset({"deferred-kernel"})
# These ask for all effects, but for no host path.
_LATE = frozenset({"comment-only-gap", "missing-gpu-test"})
_ELSEWHERE = _EARLY | _NEXT | _LATE
_ASKS_REACH = frozenset({"missing-gpu-test"})
_ASKS_NOTHING = frozenset({"broken-ptx"})
_ASK_STAND_INS = frozenset({"silent-fallback", "ungated-warning"})

Found = dict[str, "list[Candidate]"]
# With what makes each of them the same in another commit.
Seen = tuple["list[Candidate]", list[Identity]]


class Checking:
    """Lets rules look at a workspace whose effects are not worked out yet; a context manager.

    Where there are two processes, this one works the effects out, and tells a copy of itself each of them as
    soon as it is there. Meanwhile the copy runs the rules that ask for little; then it finds a part of the
    host paths, and the stand-ins, and runs some more rules, while this process finds the other paths and runs
    the rest. What the copy finds out about files on its way is handed to `recalled`. Whatever it does not
    deliver is done here.
    """

    def __init__(
        self, judgement: Judgement, rules: Sequence[Rule], jobs: int, recalled: Recalled | None = None
    ) -> None:
        self._judgement = judgement
        self._rules = rules
        self._recalled = recalled
        # Where one process has nothing to do, two cost more than they gain.
        self._shares = jobs > 1 and 0 < len(self._named(_ELSEWHERE)) < len(rules)
        self._running = ExitStack()
        self._copy: ForkedCopy | None = None

    def __enter__(self) -> Self:
        if self._shares:
            self._judgement.summaries.graph.prepare()
            copy = self._running.enter_context(ForkedCopy(self._work))
            self._copy = copy if copy.is_there else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def settle(self) -> None:
        """Work out the effects of the workspace."""
        summaries = self._judgement.summaries
        self._tell({"launching": summaries.launching})
        self._tell({"gates": summaries.gates, "rejecting": summaries.rejecting})
        self._tell({"reads": summaries.reads})

    def candidates(self) -> list[list[Candidate]]:
        """Return what each rule sees, in the order of the rules and of the tree."""
        found = self._check_beside(self._copy) if self._copy is not None else {}
        found |= self._check([rule for rule in self._rules if rule.id not in found])
        return [found[rule.id] for rule in self._rules]

    def _named(self, names: frozenset[str]) -> list[Rule]:
        return [rule for rule in self._rules if rule.name in names]

    def _check(self, rules: Sequence[Rule]) -> Found:
        return {rule.id: list(rule.check(self._judgement)) for rule in rules}

    @cached_property
    def _asking_paths(self) -> list[Rule]:
        others = _ELSEWHERE | _ASK_STAND_INS | _ASKS_NOTHING
        return [rule for rule in self._rules if rule.name not in others]

    @cached_property
    def _asking_stand_ins(self) -> list[Rule]:
        return self._named(_ASK_STAND_INS)

    def _portions(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the functions whose host paths this process finds, and those that are left to its copy."""
        reading = self._judgement.paths.reading if self._asking_paths or self._asking_stand_ins else ()
        # The copy has to find the stand-ins, too.
        own = len(reading) * 2 // 3
        return reading[:own], reading[own:]

    # -- here, beside the copy ---------------------------------------------------------------------------

    def _tell(self, effects: Mapping[str, object]) -> None:
        if self._copy is not None:
            self._copy.tell(dump(effects))

    def _check_beside(self, copy: ForkedCopy) -> Found:
        """Run the rules; those that the copy was to run and has not are left out."""
        judgement = self._judgement
        ours, theirs = self._portions()
        if ours or theirs:
            paths = judgement.paths.within(ours)
            answer = copy.answer()
            others = judgement.paths.within(theirs) if answer is None else load(answer, judgement)
            judgement.paths.take((*paths, *others))
        found = self._check(self._asking_paths)
        if self._asking_stand_ins and (answer := copy.answer()) is not None:
            judgement.stand_ins_on_failure = load(answer, judgement)
        found |= self._check(self._asking_stand_ins)
        answer = copy.answer()
        return found if answer is None else found | self._taken(answer)

    def _taken(self, answer: bytes) -> Found:
        """Return what the copy has seen, and take what it has found out on its way."""
        written, learned = marshal.loads(answer)  # noqa: S302  from a copy of this process
        if self._recalled is not None:
            self._recalled.add(learned)
        found: Found = {}
        for rule, (seen, identities) in zip(
            self._named(_ELSEWHERE), load(written, self._judgement), strict=True
        ):
            take_identities(rule, seen, identities)
            found[rule.id] = seen
        return found

    # -- in the copy -------------------------------------------------------------------------------------

    def _work(self, hear: Hear) -> Iterator[bytes]:
        judgement = self._judgement
        known: dict[str, Seen] = {}
        if self._named(_ASKS_REACH):
            # It asks for no effect.
            judgement.reach.settle()
        for names in (_EARLY, _NEXT, frozenset[str]()):
            if not self._take(hear()):
                return
            known |= self._seen(names)
        _, ours = self._portions()
        if ours:
            yield dump(judgement.paths.within(ours))
        if self._asking_stand_ins:
            yield dump(judgement.stand_ins_on_failure)
        known |= self._seen(_LATE)
        learned = self._recalled.learned() if self._recalled is not None else {}
        seen = [known[rule.id] for rule in self._named(_ELSEWHERE)]
        yield marshal.dumps((dump(seen), learned))

    def _take(self, effects: bytes | None) -> bool:
        """Take effects as they are told; False where nobody tells any more."""
        if effects is None:
            return False
        self._judgement.summaries.take(**load(effects, self._judgement))
        return True

    def _seen(self, names: frozenset[str]) -> dict[str, Seen]:
        """Return what rules see, by their ids, with what makes it the same in another commit."""
        seen = {rule: list(rule.check(self._judgement)) for rule in self._named(names)}
        return {rule.id: (own, [identity_of(rule, one) for one in own]) for rule, own in seen.items()}


class _Reader(pickle.Unpickler):
    """Reads files and functions by name: whoever reads has the workspace of whoever wrote."""

    def __init__(self, stream: BytesIO, judgement: Judgement) -> None:
        super().__init__(stream)
        workspace = judgement.workspace
        units = {unit.path: unit for unit in judgement.documents} | workspace.units
        self._known = {"_function": workspace.functions.__getitem__, "_file": units.__getitem__}

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name in self._known:
            return self._known[name]
        return super().find_class(module, name)


def _function(index: int) -> Fn:
    raise pickle.UnpicklingError(f"function {index} of no workspace")


def _file(path: str) -> Unit:
    raise pickle.UnpicklingError(f"{path} of no workspace")


def dump(found: object) -> bytes:
    """Write effects, candidates, host paths, or other values that hold files and functions of a workspace."""
    stream = BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        Fn: lambda function: (_function, (function.index,)),
        Unit: lambda unit: (_file, (unit.path,)),
    }
    pickler.dump(found)
    return stream.getvalue()


def load(data: bytes, judgement: Judgement) -> Any:
    """Read what this process or a copy of it has written; nothing else may be read so."""
    return _Reader(BytesIO(data), judgement).load()

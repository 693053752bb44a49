"""Optimizers: the functions that update a state which lives where the parameters do."""

from __future__ import annotations

from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern


class Updates:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries) -> None:
        words = summaries.profile.autograd
        implementors = summaries.workspace.implementors
        self._graph = summaries.graph
        self._traits = frozenset(words.optimizer_traits)
        self._types = frozenset(one for trait in self._traits for one in implementors.get(trait, ()))
        self._path = any_pattern(words.optimizer_path_patterns)
        self._step = any_pattern(words.step_patterns)
        self._in_place = frozenset(summaries.profile.transfer.in_place_uploads)
        self._writing = summaries.profile.uploads | frozenset(summaries.profile.transfer.host_constructors)

    def is_step(self, function: Fn) -> bool:
        """Say whether a function makes an optimizer's step."""
        if function.trait in self._traits:
            return True
        is_optimizer = function.self_type in self._types or self._path.search(function.unit.path) is not None
        return is_optimizer and self._step.search(function.name) is not None

    def updates_state(self, function: Fn) -> bool:
        """Say whether a function makes a step and writes the outcome back, or gathers for one that does."""
        if self._graph.is_part_of_optimizer(function):
            return True
        names = self._in_place if function.trait in self._traits else self._in_place | self._writing
        return self.is_step(function) and any(call.name in names for call in function.facts.calls)

"""What the assembler says of the kernels of a workspace."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from audit.scanner.link.unit import Fn
from audit.scanner.ptx.assembly import Assembled, Assembly
from audit.scanner.ptx.driver import DriverAnswer, DriverAnswers, judged_by
from audit.scanner.ptx.texts import PtxText, PtxTexts

if TYPE_CHECKING:
    from audit.scanner.ptx.assembler import Assembler

_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
NO_ASSEMBLER = "no ptxas: install the extra `ptx`, or put ptxas on PATH"


class Rejection(NamedTuple):
    """A text that does not load: a driver refuses it (`refusal`), or no driver was asked and the assembler
    rejects it. `by_target` is what the assembler said for each target that it rejects it for.
    """

    text: PtxText
    by_target: Mapping[str, Assembly]
    refusal: DriverAnswer | None = None

    @property
    def targets(self) -> str:
        """The targets in words."""
        return ", ".join(self.by_target)


class Kernels:
    """The PTX texts of a workspace, assembled for the targets of its profile.

    What a driver answered to a text outranks what the assembler says of it, both ways.
    """

    def __init__(
        self,
        texts: PtxTexts,
        assembler: Assembler | None,
        targets: Sequence[str],
        driver: DriverAnswers | None = None,
    ) -> None:
        self._texts = texts
        self._assembler = assembler
        self._targets = tuple(targets)
        self._driver = driver or DriverAnswers()

    @property
    def assembler_version(self) -> str:
        """The version of the assembler, empty without one."""
        return self._assembler.version if self._assembler is not None else ""

    @property
    def judge(self) -> str:
        """Who judges the texts: the assembler, and up to which answer drivers were heard."""
        return judged_by(self.assembler_version, self._driver.label)

    @cached_property
    def _assemblies(self) -> Mapping[tuple[str, str], Assembly]:
        if self._assembler is None:
            return {}
        return self._assembler.assemble_all((one.text for one in self._texts.all), self._targets)

    @property
    def texts(self) -> tuple[PtxText, ...]:
        """All texts, whether an assembler is there or not."""
        return self._texts.all

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbol of each text, in the order of `texts`: its results and its loads have it too."""
        counted: Counter[str] = Counter()
        found = []
        for text in self._texts.all:
            holder = text.function.symbol if text.function is not None else ""
            parts = (text.unit.crate_name, *text.unit.module, text.name)
            symbol = holder or "::".join(part for part in parts if part)
            counted[symbol] += 1
            found.append(f"{symbol}#{counted[symbol]}" if counted[symbol] > 1 else symbol)
        return tuple(found)

    @cached_property
    def rejections(self) -> tuple[Rejection, ...]:
        """The texts that a driver refuses; where none was asked, those rejected for one target or more."""
        found = []
        for text in self._texts.all:
            answer = self._driver.to(text.text)
            if answer is not None and answer.is_loaded:
                continue
            rejected = {
                target: self._assemblies[text.text, target]
                for target in self._targets
                if (text.text, target) in self._assemblies
                and self._assemblies[text.text, target].status is Assembled.REJECTED
            }
            if rejected or answer is not None:
                found.append(Rejection(text, rejected, answer))
        return tuple(found)

    @cached_property
    def not_run_reason(self) -> str:
        """Why the texts are not judged, or not for every target; empty when they all are."""
        if self._texts.all and all(self._driver.to(text.text) is not None for text in self._texts.all):
            return ""
        if self._assembler is None:
            return NO_ASSEMBLER
        if not self._targets:
            return "the profile names no `ptx_targets`"
        unknown = sorted({target for (_, target), one in self._assemblies.items() if _is_unknown(one)})
        if unknown:
            return f"ptxas {self._assembler.version} does not know {', '.join(unknown)}"
        failed = next((one for one in self._assemblies.values() if one.status is Assembled.FAILED), None)
        return f"ptxas {self._assembler.version} failed: {failed.log[:200]}" if failed is not None else ""

    def loaded_by(self, text: str) -> DriverAnswer | None:
        """Give the answer of a driver that loads a text; None where none was asked, or one refuses it."""
        answer = self._driver.to(text)
        return answer if answer is not None and answer.is_loaded else None

    def rejected_in(self, function: Fn) -> Rejection | None:
        """Return a rejected kernel that a function names or derives; None when it has none."""
        derived = self._derived_in.get(function.index)
        if derived is not None:
            return derived
        names = self._by_name.get(function.unit.path)
        if not names:
            return None
        body = function.text(function.facts.body_start, function.facts.body_end)
        return next((names[word] for word in _CONSTANT.findall(body) if word in names), None)

    def texts_in(self, function: Fn) -> tuple[PtxText, ...]:
        """Return the texts that a function derives or holds, or else names."""
        own = self._held_in.get(function.index)
        if own:
            return tuple(own)
        named = self._named_in.get(function.unit.path)
        if not named:
            return ()
        body = function.text(function.facts.body_start, function.facts.body_end)
        return tuple(named[word] for word in dict.fromkeys(_CONSTANT.findall(body)) if word in named)

    @cached_property
    def _held_in(self) -> dict[int, list[PtxText]]:
        found: dict[int, list[PtxText]] = {}
        for text in self._texts.all:
            if text.function is not None and not text.name:
                found.setdefault(text.function.index, []).append(text)
        return found

    @cached_property
    def _named_in(self) -> dict[str, dict[str, PtxText]]:
        found: dict[str, dict[str, PtxText]] = {}
        for text in self._texts.all:
            if text.name:
                found.setdefault(text.unit.path, {})[text.name] = text
        return found

    @cached_property
    def _by_name(self) -> dict[str, dict[str, Rejection]]:
        found: dict[str, dict[str, Rejection]] = {}
        for one in self.rejections:
            if one.text.name:
                found.setdefault(one.text.unit.path, {})[one.text.name] = one
        return found

    @cached_property
    def _derived_in(self) -> dict[int, Rejection]:
        return {
            one.text.function.index: one
            for one in reversed(self.rejections)
            if one.text.function is not None and not one.text.name
        }


def text_digest(text: str) -> str:
    """Return what names a text by what it holds, as the readings of a driver do."""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_unknown(one: Assembly) -> bool:
    return one.status is Assembled.UNKNOWN_TARGET

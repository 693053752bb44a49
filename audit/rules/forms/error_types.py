"""The error types of a workspace: which errors carry text alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.judge import Judgement
from audit.scanner.link.enums import variants_of
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

# What says that a case is left out for want of work, and no argument is wrong.
GAP = re.compile(
    r"(?i)\bonly\b.{0,80}\bsupport|\bnot (?:yet )?implemented\b|\bnot yet\b"
    r"|\bfollow[- ]?(?:up|on)\b"
    r"|\bkernels?\b.{0,30}\b(?:needed|missing|required|pending)\b|\b(?:needs|requires)\b.{0,40}\bkernel\b"
    r"|\bdo(?:es)?(?: not|n't) (?:yet )?support\b(?! empty)|\bdo(?:es)? not have\b.{0,40}\bkernels?\b"
    r"|\b(?:b?f|fp)\d+-only\b|\bonly accepts?\b.{0,60}\b(?:inputs?|weights?|d?types?)\b"
    r"|\bneither\b.{0,60}\bb?f\d+\b.{0,40}\bnor\b",
    re.DOTALL,
)
# Crates of an error that is any error.
_ANY_ERRORS = frozenset({"anyhow", "color_eyre", "eyre", "miette"})
_MADE_OF_TEXT = re.compile(r"\b(\w+)(?:::Error)?::msg\b")
_ERROR_NAME = re.compile(r"Err(?:or)?(?:Kind)?$")


class Errors:
    """The error types of the workspace, in the words of its profile."""

    def __init__(self, judgement: Judgement) -> None:
        words = judgement.profile.errors
        self._resolver = judgement.summaries.resolver
        self._macros = judgement.summaries.graph.macros
        self.catch_all = re.compile(_variants(words.stringly))
        """What carries any text; a type's own variant with a text may name what failed."""
        own = _own_texts(judgement)
        self._own = re.compile(rf"\(\s*(?:\w+::)*(?:{own or '(?!)'})")
        # Without a second alternative the pattern begins with a text that is soon looked for.
        stringly = _variants(words.stringly) + (f"|{own}" if own else "")
        self._text_macros = frozenset(words.text_macros)
        macros = "".join(rf"|\b{re.escape(name)}!" for name in words.text_macros)
        self.has_text_macros = bool(words.text_macros)
        self.answering = (stringly + macros).encode()
        """What is written where a function answers with text."""
        self.words = (Errors, self.answering, self._text_macros & self._macros)
        """What a function's text is read with: other files have a say in it."""
        self._answering = re.compile(self.answering)
        self.unsupported = any_pattern(words.unsupported_texts)
        self.named = frozenset(words.structured)
        self._host_only = any_pattern(judgement.profile.transfer.host_only_patterns)
        structured = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in words.structured))
        self.structured_types = frozenset(
            item.name
            for unit in judgement.workspace.units.values()
            for item in unit.facts.items
            if item.kind == "enum" and structured.search(unit.text(item.start, item.end))
        )

    def may_answer(self, function: Fn) -> bool:
        """Say whether a function names a catch-all variant, or a macro that makes one, anywhere."""
        facts = function.facts
        return self._answering.search(function.unit.data, facts.start, facts.end) is not None

    def is_text(self, function: Fn, call: Call) -> bool:
        """Say whether an error is made of text: `Err(Error::Msg(..))`, `bail!(..)`."""
        if call.kind == CallKind.MACRO and call.name in self._text_macros:
            return self._is_of_the_error_type(function, call)
        text = function.text(call.arguments_start, call.end)
        if self.catch_all.search(text) is not None:
            return not self.is_any_error(function, text)
        # A variant of a type's own may carry what a driver said: it has to say the case itself.
        return self._own.match(text) is not None and self.says_case(text)

    def says_case(self, text: str) -> bool:
        """Say whether a text says that a case is unsupported."""
        return self.unsupported.search(text) is not None or GAP.search(text) is not None

    def is_any_error(self, function: Fn, text: str) -> bool:
        """Say whether a text is made an error of a crate where all errors are text: `E::msg(..)`."""
        uses = self._resolver.uses(function.unit)
        named = _MADE_OF_TEXT.findall(text)
        return bool(named) and all(not _ANY_ERRORS.isdisjoint((name, *uses.get(name, ()))) for name in named)

    def _is_of_the_error_type(self, function: Fn, call: Call) -> bool:
        """Say whether a macro is not that of a crate where all errors are text, as far as it is told."""
        uses = self._resolver.uses(function.unit)
        qualifier = function.text(call.start, call.name_start).strip(": \n").partition("::")[0]
        if qualifier:
            return _ANY_ERRORS.isdisjoint((qualifier, *uses.get(qualifier, ())))
        path = uses.get(call.name, ())
        return _ANY_ERRORS.isdisjoint(path) if path else call.name in self._macros

    def is_host_code(self, function: Fn) -> bool:
        """Say whether a function, or a module around it, is named as host code: it promises no device."""
        return any(map(self._host_only.search, (function.name, *function.module)))

    def is_structured(self, type_: str) -> bool:
        """Say whether a type as written is, or carries, a structured error."""
        return any(name in self.structured_types or name in self.named for name in re.findall(r"\w+", type_))


def _own_texts(judgement: Judgement) -> str:
    """Return a pattern for the variants of the workspace's error types that hold a text and nothing else.

    Of types of the same name all have to hold it so, and a variant that is named for its case is none.
    """
    words = judgement.profile.errors
    types = "|".join(map(re.escape, words.text_types))
    holds_text = re.compile(rf"\(\s*(?:{types})\s*,?\s*\)") if types else None
    found: dict[str, dict[str, bool]] = {}
    for unit in judgement.workspace.units.values() if holds_text is not None else ():
        for item in unit.facts.items:
            if item.kind == "enum" and _ERROR_NAME.search(item.name):
                known = found.setdefault(item.name, {})
                for variant, payload in variants_of(unit.text(item.start, item.end)):
                    is_text = holds_text is not None and holds_text.fullmatch(payload) is not None
                    known[variant] = known.get(variant, True) and is_text
    named = frozenset(words.structured)
    return _of_types(
        {
            name: sorted(one for one in known if known[one] and one not in named)
            for name, known in found.items()
        }
    )


def _of_types(variants: Mapping[str, list[str]]) -> str:
    parts = [rf"{name}::(?:{'|'.join(of)})" for name, of in sorted(variants.items()) if of]
    return rf"\b(?:{'|'.join(parts)})\b" if parts else ""


def _variants(names: Iterable[str]) -> str:
    """Return a pattern for variants: of any type, or of that which a name begins with."""
    of_any = [re.escape(one) for one in names if "::" not in one]
    of_one = [rf"\b{re.escape(one)}\b" for one in names if "::" in one]
    return "|".join([*([rf"::(?:{'|'.join(of_any)})\b"] if of_any else []), *of_one]) or "(?!)"

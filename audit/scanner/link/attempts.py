"""Attempts on the device, and the tests that hold because one did not work."""

from __future__ import annotations

import re
from functools import lru_cache

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.closures import receiver_of, recovery
from audit.scanner.link.device_work import DeviceWork
from audit.scanner.link.flow import Test, split_operator
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn

_FAILURE_PATTERN = re.compile(r"^(?:Err\b|None\b|\w*(?:::\w+)*::?Err\b)")
_SUCCESS_PATTERN = re.compile(r"^\(*(?:Ok|Some|true)\b")
_SWALLOWED = re.compile(r"\.(?:ok|is_ok|is_some|unwrap_or_default)\(\)")
_FAILED = re.compile(r"\.(?:is_err|is_none)\(\)$")
_STATUS = re.compile(r"^(\w+)\s*(==|!=|<)\s*-?(?:[01]|[\w:]*(?i:success|_ok)\b)$")
_ASKED_OF = re.compile(r"^(\w+)(?:\s*\.\s*(?:is_ok|is_some|is_err|is_none|as_ref|as_mut|ok|clone)\(\))+$")
_FIELD = re.compile(r"^self\.(\w+)(?:\.(?:as_ref|as_mut|as_deref|get|clone)\(\))*$")
_MAYBE = re.compile(r"\bOption\s*<|Result\b")
_DEPTH = 3


class Attempts:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries, work: DeviceWork) -> None:
        self._summaries = summaries
        self._work = work
        self._constructors = frozenset(summaries.profile.tests.constructors)
        self._openers: dict[int, bool] = {}

    def has_failed(self, function: Fn, test: Test) -> bool:
        """Say whether a test holds because something on the device did not work."""
        if not says_failure(test):
            return False
        if not test.pattern and "&&" in test.subject and not test.holds:
            parts = _lets_in(test.subject)
            if parts:
                return any(self.has_failed(function, test._replace(subject=part)) for part in parts)
        subject, pattern, _ = read_test(test)
        status = _STATUS.match(subject) if not pattern else None
        return self.attempts(function, status[1] if status is not None else subject, before=test.group)

    def failed_around(self, function: Fn, region: int) -> Test | None:
        """Return the test under which a closure around a region runs: what it was called on had failed."""
        for index in function.ancestors(region):
            if function.facts.regions[index].kind == RegionKind.CLOSURE:
                adapter = recovery(function, index)
                if adapter is not None and self.attempts(function, receiver_of(function, adapter)):
                    return Test(receiver_of(function, adapter), "", False, adapter.start, index, True)
        return None

    def attempts(self, function: Fn, expression: str, depth: int = _DEPTH, before: int | None = None) -> bool:
        """Say whether an expression puts work on the device or prepares it: launch, compile, backend call.

        A name stands for what it was bound to `before` an offset: it may be bound anew behind it.
        """
        flow = self._summaries.flow(function)
        bare = expression.strip().lstrip("&").removeprefix("mut ").strip()
        asked = _ASKED_OF.match(bare)
        if asked is not None:
            bare = asked[1]
        if bare.isidentifier() and depth:
            value = flow.value_of(bare) if before is None else flow.value_before(bare, before)
            return bool(value) and self.attempts(function, value, depth - 1)
        field = _FIELD.match(bare)
        if field is not None and self._may_lack_device(
            self._summaries.workspace.struct_fields.get(function.self_type, {}).get(field[1], "")
        ):
            return True
        text = expression.encode()
        start = function.unit.data.find(text, function.facts.body_start, function.facts.body_end)
        if start < 0:
            return False
        names = self._summaries.profile.launch.compile_calls
        return any(
            call.name in names or self._work.is_device_call(function, call) or self._opens(function, call)
            for call in function.facts.calls
            if start <= call.start < start + len(text)
        )

    def opens_in(self, function: Fn, start: int, end: int) -> bool:
        """Say whether a device is opened in a span of a function."""
        return any(start <= call.start < end and self._opens(function, call) for call in function.facts.calls)

    def _opens(self, function: Fn, call: Call) -> bool:
        """Say whether a call opens a device, or asks a function for one that may not be there."""
        if call.kind == CallKind.PATH:
            path = function.text(call.start, call.name_start).rstrip(":").rpartition("::")[2]
            if path in self._constructors or call.name in self._constructors:
                return True
        if call.kind not in (CallKind.PATH, CallKind.PLAIN):
            return False
        return any(self._hands_out_device(one) for one in self._summaries.resolver.resolve(function, call))

    def _hands_out_device(self, function: Fn) -> bool:
        known = self._openers.get(function.index)
        if known is None:
            known = self._openers[function.index] = self._may_lack_device(function.facts.return_type)
        return known

    def _may_lack_device(self, type_: str) -> bool:
        """Say whether a type holds a device that may not be there."""
        return bool(_MAYBE.search(type_)) and not self._constructors.isdisjoint(re.findall(r"\w+", type_))


@lru_cache(maxsize=16_384)
def says_failure(test: Test) -> bool:
    """Say whether a test, by its own text, holds because something did not work."""
    if not test.pattern and "&&" in test.subject and not test.holds:
        parts = _lets_in(test.subject)
        if parts:
            return any(says_failure(test._replace(subject=part)) for part in parts)
    subject, pattern, holds = read_test(test)
    if pattern:
        if _FAILURE_PATTERN.match(pattern.strip()):
            return holds
        return not holds and _SUCCESS_PATTERN.match(pattern.strip()) is not None
    status = _STATUS.match(subject)
    if status is not None:
        return holds != (status[2] == "==")
    return (_FAILED.search(subject) if holds else _SWALLOWED.search(subject)) is not None


def _lets_in(subject: str) -> list[str]:
    """Return the patterns that a condition of several parts asks for; none where the whole is one."""
    if subject.startswith("let "):
        return []
    return [part for part in split_operator(subject, "&&") if part.startswith("let ")]


def read_test(test: Test) -> tuple[str, str, bool]:
    """Return a test's subject, pattern and outcome, with `if let` and `!` taken apart."""
    subject, pattern, holds = test.subject.strip(), test.pattern, test.holds
    if not pattern and subject.startswith("let "):
        pattern, _, subject = subject[4:].partition("=")
    if not pattern and subject.startswith("!"):
        subject, holds = subject[1:], not holds
    return subject.strip(), pattern, holds


def is_outcome(pattern: str) -> bool:
    """Say whether a pattern tells a success from a failure."""
    return bool(_FAILURE_PATTERN.match(pattern.strip()) or _SUCCESS_PATTERN.match(pattern.strip()))

"""What becomes of device data that was read on the host."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from audit.scanner.extract.facts import CallKind
from audit.scanner.link.summaries import Read, Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.link.words import ends_of

_HANDED_OVER = re.compile(r"\s*[,)]|\.len\(\)")
_COMMENT = re.compile(r"//[^\n]*")
_ELEMENT = re.compile(r"\s*\[\s*\d+\s*\]")


class Use(StrEnum):
    """What becomes of the data that was read.

    Rewrapped data goes into another tensor as it is; demoted data is an operator's own input that comes out
    as a host tensor; of measured data only the length is asked; copied data comes back as a copy on the
    device; of asked data single elements decide a branch and nothing else; moved data was handed to a
    transfer that is told the host, and what is done there is not seen yet.
    """

    COMPUTED = "computed"
    REWRAPPED = "rewrapped"
    DEMOTED = "demoted"
    MEASURED = "measured"
    COPIED = "copied"
    ASKED = "asked"
    MOVED = "moved"


class Uses:
    """Answers for one workspace."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        profile = summaries.profile
        self._operators = frozenset(profile.launch.operators)
        self._moving = frozenset(profile.transfer.device_arguments)
        self._wrapping = profile.uploads | frozenset(profile.transfer.host_constructors)

    def of(self, function: Fn, reads: Iterable[Read], *, is_uploaded: bool) -> Use:
        """Say what becomes of the data of several reads together."""
        known = {self.of_read(function, read) for read in reads}
        if len(known) > 1:
            known.discard(Use.MOVED)
        use = known.pop() if len(known) == 1 else Use.COMPUTED
        if use is Use.REWRAPPED and not is_uploaded:
            roots = {re.split(r"\W", read.operand.lstrip("&*("), maxsplit=1)[0] for read in reads}
            if roots <= {parameter.name for parameter in function.facts.parameters}:
                return Use.DEMOTED
        return use

    def of_read(self, function: Fn, read: Read) -> Use:
        """Say what becomes of the data of one read."""
        if read.is_copy:
            return Use.COPIED
        if read.helper is not None:
            return Use.COMPUTED
        kept = self._summaries.flow(function).kept
        key = (Use, read.call.start, read.call.end)
        known: Use | None = kept.get(key)
        if known is None:
            known = kept[key] = self._of_call(function, read)
        return known

    def _of_call(self, function: Fn, read: Read) -> Use:
        if read.call.name in self._moving:
            rest = function.text(read.call.end, function.facts.body_end).lstrip("? \n\t")
            works = rest.startswith(".") or self._works_on(function, read)
            return Use.COMPUTED if works else Use.MOVED
        name = next(
            (
                function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
                for let in function.facts.lets
                if let.value_start <= read.call.start < let.value_end
                and function.text(read.call.end, let.value_end).strip(" ?\n") == ""
            ),
            "",
        )
        if not name.isidentifier():
            return self._direct_use(function, read)
        body = _COMMENT.sub("", function.text(read.call.end, function.facts.body_end))
        uses = [body[end : end + 8] for end in ends_of(name, body)]
        if uses and all(following.startswith(".len()") for following in uses):
            return Use.MEASURED
        if uses and not self._is_lent(function, read, name) and all(map(_HANDED_OVER.match, uses)):
            return Use.REWRAPPED
        return Use.ASKED if self._is_asked(function, read, name) else Use.COMPUTED

    def _works_on(self, function: Fn, read: Read) -> bool:
        """Say whether operators run on the local that holds what was moved."""
        name = next(
            (
                function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
                for let in function.facts.lets
                if let.value_start <= read.call.start
                and function.text(read.call.end, let.value_end).strip(" ?\n") == ""
                and let.value_end >= read.call.end
            ),
            "",
        )
        if not name.isidentifier():
            return False
        operands = (
            function.text(call.start, call.name_start).rstrip(". \n")
            if call.kind == CallKind.METHOD
            else function.text(call.arguments_start, call.end).strip("(& ").partition(",")[0].rstrip(") ")
            for call in function.facts.calls
            if call.start >= read.call.end and call.name in self._operators
        )
        return name in operands

    def _is_asked(self, function: Fn, read: Read, name: str) -> bool:
        """Say whether nothing but elements at fixed places is used, and that in conditions only."""
        conditions = [(one.condition_start, one.condition_end) for one in function.facts.regions]
        pending = [(name, read.call.end)]
        while pending:
            word, start = pending.pop()
            body = function.text(start, function.facts.body_end)
            ends = list(ends_of(word, body))
            for end in ends:
                offset = start + len(body[: end - len(word)].encode())
                if word == name and not _ELEMENT.match(body, end):
                    return False
                if any(begin <= offset < end for begin, end in conditions):
                    continue
                bound = self._bound_with(function, offset)
                if not bound.isidentifier() or bound in (word, name):
                    return False
                pending.append((bound, offset + len(word.encode())))
            if not ends:
                return False
        return True

    def _bound_with(self, function: Fn, offset: int) -> str:
        """Return the local that the value at an offset is bound to."""
        for let in function.facts.lets:
            if let.value_start <= offset < let.value_end:
                return function.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
        return ""

    def _is_lent(self, function: Fn, read: Read, name: str) -> bool:
        """Say whether data is lent to something else than an upload."""
        start, end = read.call.end, function.facts.body_end
        find = function.unit.data.find
        if find(f"&{name}".encode(), start, end) < 0 and find(b"&mut", start, end) < 0:
            return False
        body = function.text(start, end)
        for found in re.finditer(rf"&(?:mut\s+)?{name}\b", body):
            offset = start + len(body[: found.start()].encode())
            around = [call for call in function.facts.calls if call.arguments_start < offset < call.end]
            if not around or around[-1].name not in self._summaries.profile.uploads:
                return True
        return False

    def _direct_use(self, function: Fn, read: Read) -> Use:
        """Judge data that no local is bound to: an argument of a constructor is wrapped, nothing else is."""
        following = function.text(read.call.end, read.call.end + 12).lstrip("? \n")
        if following.startswith(".len()"):
            return Use.MEASURED
        if not following.startswith((",", ")")):
            return Use.COMPUTED
        outer = [
            call
            for call in function.facts.calls
            if call.arguments_start < read.call.start and read.call.end < call.end
        ]
        return Use.REWRAPPED if outer and outer[-1].name in self._wrapping else Use.COMPUTED

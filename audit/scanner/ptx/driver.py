"""What real drivers answered to PTX texts. Their word outranks the assembler's."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_PART = "driver."
_LOG_LINE = re.compile(r"(?:.*?\bline (?P<line>\d+)\s*;\s*)?(?:.*?\b)?(?:error|fatal)\s*:\s*(?P<what>.+)")
_SAID_CHARACTERS = 300


class DriverAnswer(NamedTuple):
    """The answer of one machine's driver to one text, known by its SHA-256.

    `error` is the driver's name for its result, and `said` the first error in its log, both empty where it
    loads the text. `driver` is the CUDA version that the driver gives for itself.
    """

    sha256: str
    is_loaded: bool
    device: str
    driver: str
    error: str = ""
    said: str = ""

    @property
    def machine(self) -> str:
        """The device and the driver in words."""
        return f"{self.device or 'a device'}, driver for CUDA {self.driver or 'of no known version'}"


class DriverAnswers:
    """The newest answer of each device to each text; `label` is part of who judges.

    A text that one device's driver loads and another's refuses can't run on the second: it is refused.
    """

    def __init__(self, answers: Iterable[DriverAnswer] = (), *, label: str = "") -> None:
        self.label = label
        self._by_text: dict[str, dict[str, DriverAnswer]] = defaultdict(dict)
        for answer in answers:
            self._by_text[answer.sha256][answer.device] = answer

    def to(self, text: str) -> DriverAnswer | None:
        """Give the answer that counts for a text; None where no driver was asked."""
        answers = self._by_text.get(digest_of(text), {}).values()
        return min(answers, key=lambda answer: answer.is_loaded, default=None)


def digest_of(text: str) -> str:
    """Give what a text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def first_error(log: str) -> str:
    """Give the first line of a driver's log that tells of an error, without the name of the input."""
    for line in log.splitlines():
        found = _LOG_LINE.fullmatch(line.strip())
        if found is not None:
            what = found["what"][:_SAID_CHARACTERS]
            return f"line {found['line']}: {what}" if found["line"] else what
    return ""


def judged_by(assembler_version: str, label: str) -> str:
    """Name who judges PTX texts: the assembler's version, and up to which answer drivers were heard."""
    return "+".join(part for part in (assembler_version, f"{_PART}{label}" if label else "") if part)


def parts_of(judge: str) -> tuple[str, str]:
    """Take such a name apart: the assembler's version and the label of the drivers' answers."""
    assembler, _, label = judge.rpartition(_PART)
    return (assembler.removesuffix("+"), label) if _PART in judge else (judge, "")

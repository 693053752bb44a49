"""What an assembler says of a text, apart from the programs that are asked."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Assembled(StrEnum):
    """How an assembly ended. `FAILED` says nothing about the text: the assembler could not do its work."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN_TARGET = "unknown-target"
    FAILED = "failed"


class Assembly(NamedTuple):
    """What the assembler said of one text for one target."""

    status: Assembled
    log: str

    @property
    def first_error(self) -> str:
        """The first line of the log that names an error, without the name of the input."""
        for line in self.log.splitlines():
            found = re.match(r"ptxas\s+(?P<where>.*?)(?:\s*:\s*)?(?:error|fatal)\s*:\s*(?P<what>.+)", line)
            if found is not None:
                number = re.search(r"line (\d+)", line)
                return f"line {number[1]}: {found['what']}" if number else found["what"]
        return self.log.strip().splitlines()[0] if self.log.strip() else ""

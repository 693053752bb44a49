"""What a rule is: its texts, its examples and its check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from audit.scanner.fitting import blind_reason, narrowed_reason
from audit.scanner.profile import DEFAULT_PROFILE
from audit.scanner.report import Level

if TYPE_CHECKING:
    from audit.scanner.judge import Candidate, Judgement

_MARKER = "//~"


class Example(NamedTuple):
    """A titled piece of Rust. Lines that end in `//~ FT0nn` are the ones the rule flags.

    `path` places the source in the profile's world (a GPU crate, the core crate); `others` holds further
    files of the same workspace, by path; `profile` is the one it is scanned under.
    """

    title: str
    marked_source: str
    path: str = "ferrotorch-gpu/src/lib.rs"
    others: Mapping[str, str] = MappingProxyType({})
    profile: str = DEFAULT_PROFILE

    @property
    def source(self) -> str:
        """The source without its markers."""
        lines = self._marked_lines()
        return "\n".join(line.split(_MARKER)[0].rstrip() for line in lines) + "\n"

    @property
    def flagged_lines(self) -> frozenset[int]:
        """The marked lines, from 1."""
        lines = self._marked_lines()
        return frozenset(number for number, line in enumerate(lines, 1) if _MARKER in line)

    def _marked_lines(self) -> list[str]:
        # No scan looks at an example.
        from textwrap import dedent

        return dedent(self.marked_source).strip("\n").split("\n")


class Rule(ABC):
    """A pattern the scanner reports.

    A subclass's docstring holds the sections `## What it does`, `## Why is this bad?` (what PyTorch does),
    `## Use instead` and `## Known problems`; it is the rule's page.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    level: ClassVar[Level]
    message: ClassVar[str]
    invalid: ClassVar[tuple[Example, ...]]
    valid: ClassVar[tuple[Example, ...]]
    needs_assembler: ClassVar[bool] = False
    follows_device_data: ClassVar[bool] = False

    def not_run_reason(self, judgement: Judgement) -> str:
        """Say why the rule could not look, or not at everything; empty when it could.

        One that follows device data has nothing to follow where no call is known as a transfer or launch.
        """
        return blind_reason(judgement.summaries) if self.follows_device_data else ""

    def narrowed_reason(self, judgement: Judgement) -> str:
        """Say why a rule that ran reports less than under a profile that fits; empty when it does not."""
        return narrowed_reason(judgement.summaries) if self.follows_device_data else ""

    @abstractmethod
    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield what the rule sees in a linked workspace."""

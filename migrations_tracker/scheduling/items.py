"""What is open: sites, capability gaps and tests, as the plan sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from audit.scanner.report import Level, Outcome


class ItemKind(StrEnum):
    """What kind of thing waits to be migrated."""

    SITE = "site"
    GAP = "gap"
    TEST = "test"


class Direction(StrEnum):
    """Which half of an operator an item is about, where that is known."""

    UNKNOWN = ""
    FORWARD = "forward"
    BACKWARD = "backward"


class NeedKind(StrEnum):
    """What may have to be made once before the sites that use it."""

    WORKSPACE_DEPENDENCY = "workspace-dependency"
    ERROR_VARIANT = "error-variant"
    SHARED_HELPER = "shared-helper"
    STORAGE_REDESIGN = "storage-redesign"


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """One thing to be made, in the crate that owns it (empty for the workspace)."""

    kind: NeedKind
    name: str
    crate: str = ""


@dataclass(frozen=True, slots=True)
class OpenItem:
    """One open site, capability gap, or missing or disabled test.

    `outcome` is what a person or the parity catalogue wants; None leaves it to the rule. `operator` is
    PyTorch's name, where matched. `is_always_taken` is a driver's word: it refuses the PTX that the code
    launches; `is_rejected` is the assembler's, where no driver was asked. `tests` names, for a test, the
    operators or symbols that it proves. `needs` are what the linker found missing.
    """

    id: str
    rule: str
    crate: str
    path: str
    symbol: str
    kind: ItemKind = ItemKind.SITE
    form: str = ""
    module: str = ""
    level: Level = Level.ERROR
    outcome: Outcome | None = None
    operator: str = ""
    direction: Direction = Direction.UNKNOWN
    dtypes: tuple[str, ...] = ()
    callers: int = 0
    is_always_taken: bool = False
    is_rejected: bool = False
    is_high_stakes: bool = False
    tests: tuple[str, ...] = ()
    needs: tuple[Need, ...] = field(default=())

    @property
    def folder(self) -> str:
        """The folder of its file."""
        return self.path.rpartition("/")[0]

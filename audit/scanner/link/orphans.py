"""Files that no build compiles: of no target, and declared by no module."""

from __future__ import annotations

import re

from audit.scanner.link.unit import Unit
from audit.scanner.link.workspace import Workspace

_FOUND_BY_CARGO = re.compile(
    r"(?:^|/)(?:build\.rs|src/(?:lib|main)\.rs|(?:tests|examples|benches|src/bin)/[^/]+(?:/main)?\.rs)$"
)
_DECLARED = re.compile(rb"\bmod\s+(?:r#)?(\w+)\s*;|([\w-]+)\.rs\"")


class Orphans:
    """Answers for one workspace.

    A package whose library or program was not read tells nothing of its files; and a name that any file of
    the package declares, also in a macro or behind a path, is taken for the file's.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._declared: dict[str, frozenset[str]] = {}

    def has(self, unit: Unit) -> bool:
        """Say whether a file belongs to no build of its package."""
        package = unit.package
        if unit.is_in_module_tree and unit.target_kind not in ("test", "bench"):
            return False
        if package is None or unit.path in package.targets or _FOUND_BY_CARGO.search(unit.path):
            return False
        if not any(path in self._workspace.units for path in package.targets):
            return False
        folder, _, name = unit.path.rpartition("/")
        stem = folder.rpartition("/")[2] if name == "mod.rs" else name.removesuffix(".rs")
        return stem not in self._names(unit)

    def _names(self, unit: Unit) -> frozenset[str]:
        """Return the names of the files that a package's files declare."""
        folder = unit.package.folder if unit.package is not None else ""
        known = self._declared.get(folder)
        if known is None:
            own = (one for one in self._workspace.units.values() if one.package is unit.package)
            known = frozenset().union(*(one.told_once(_declared_in, _declared_in) for one in own))
            self._declared[folder] = known
        return known


def _declared_in(unit: Unit) -> frozenset[str]:
    """Return the names of the files that a file declares, in no comment."""
    return frozenset(
        (found[1] or found[2]).decode()
        for found in _DECLARED.finditer(unit.data)
        if not unit.is_comment(found.start())
    )

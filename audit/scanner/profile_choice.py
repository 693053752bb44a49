"""Which profile fits a tree: the one that was named, else the one of the family that it is built on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from audit.scanner.link.cargo import Package, parse_packages
from audit.scanner.profile import DEFAULT_PROFILE, GENERIC_PROFILE, Profile, load_profile
from audit.scanner.source.base import Content, Source

_SIDE_FOLDERS = frozenset({"examples", "benches", "tests", "xtask"})


class Family(NamedTuple):
    """The packages that tell that a profile fits, with `*` for any text."""

    profile: str
    packages: tuple[str, ...]


# The first family that a tree belongs to decides: what is built on candle also depends on cudarc.
FAMILIES = (
    Family("ferrotorch", ("ferrotorch", "ferrotorch-*")),
    Family("candle", ("candle-core",)),
    Family("burn", ("burn", "burn-core", "burn-tensor", "burn-backend", "cubecl", "cubecl-core")),
    Family("cudarc", ("cudarc",)),
    Family("wgpu", ("wgpu",)),
    Family("risc0", ("risc0-zkp",)),
)


class ChosenProfile(NamedTuple):
    """A profile, and why it is this one."""

    profile: Profile
    reason: str


class Choice(NamedTuple):
    """The name of a profile, and why it is this one."""

    name: str
    reason: str


def profile_for(source: Source, named: str | Path = "") -> ChosenProfile:
    """Load the profile that is named (a name, or a file); without one, choose by what the tree depends on."""
    if named:
        return ChosenProfile(load_profile(named), "named by the user")
    manifests = [
        file for file in source.entries() if basename(file.path) == "Cargo.toml" and not file.skip_reason
    ]
    contents = {
        file.path: content.data for file, content in source.read(manifests) if isinstance(content, Content)
    }
    choice = choose_profile(parse_packages(contents)[0])
    return ChosenProfile(load_profile(choice.name), choice.reason)


def choose_profile(packages: Sequence[Package]) -> Choice:
    """Choose a profile by the Cargo packages of a tree.

    What the tree itself holds decides before what it depends on, and its libraries and programs before its
    examples and tests. A tree that names no family gets the generic profile; one without any package, of
    which nothing can be told, the default one.
    """
    if not packages:
        return Choice(DEFAULT_PROFILE, "the default: no Cargo.toml tells what the code depends on")
    main = [package for package in packages if _SIDE_FOLDERS.isdisjoint(package.folder.split("/"))]
    for group in (main or packages, packages):
        names = sorted(package.name for package in group)
        needs = sorted((name, package.name) for package in group for name in package.requirements)
        found = _family_of((name, f"it holds the package `{name}`") for name in names) or _family_of(
            (name, f"`{package}` depends on `{name}`") for name, package in needs
        )
        if found is not None:
            return found
    return Choice(GENERIC_PROFILE, "no package of a family with a profile of its own is used")


def _family_of(evidence: Iterable[tuple[str, str]]) -> Choice | None:
    """Return the first family that a package belongs to, with what tells it."""
    told = list(evidence)
    for family in FAMILIES:
        reason = next(_telling(family, told), None)
        if reason is not None:
            return Choice(family.profile, reason)
    return None


def _telling(family: Family, evidence: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, reason in evidence:
        if any(fnmatchcase(name, pattern) for pattern in family.packages):
            yield reason

"""Cargo manifests: packages, members, features, targets."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import dirname, normpath
from typing import Any, NamedTuple

_CONVENTIONS = (
    ("src/lib.rs", "lib"),
    ("src/main.rs", "bin"),
    ("build.rs", "build"),
)
_FOLDERS = (("src/bin", "bin"), ("tests", "test"), ("examples", "example"), ("benches", "bench"))


class Package(NamedTuple):
    """A Cargo package. `folder` is relative to the root, empty for the root itself.

    `features` maps each declared feature to what it enables, optional dependencies' implicit ones included;
    `targets` maps the root file of a target (relative to the tree) to its kind. `requirements` are the real
    names of what is needed outside of tests and build scripts, whatever a dependency is renamed to.
    """

    name: str
    folder: str
    is_workspace_member: bool
    features: Mapping[str, tuple[str, ...]]
    dependencies: frozenset[str]
    targets: Mapping[str, str]
    requirements: frozenset[str] = frozenset()
    is_proc_macro: bool = False

    @property
    def crate_name(self) -> str:
        """The name of the library in Rust code."""
        return self.name.replace("-", "_")

    @property
    def default_features(self) -> frozenset[str]:
        """The features that are on by default, those they enable included."""
        found: set[str] = set()
        pending = ["default"]
        while pending:
            for feature in self.features.get(pending.pop(), ()):
                if feature in self.features and feature not in found:
                    found.add(feature)
                    pending.append(feature)
        return frozenset(found)

    def target_kind(self, path: str) -> str:
        """Say what a file of the package belongs to: lib, bin, test, example, bench or build."""
        side = _side_kind(self.folder)
        if side:
            return side
        if path in self.targets:
            kind = self.targets[path]
            return "proc-macro" if kind == "lib" and self.is_proc_macro else kind
        inside = path[len(self.folder) + 1 :] if self.folder else path
        for folder, kind in _FOLDERS:
            if inside.startswith(folder + "/"):
                return kind
        return "lib" if not self.is_proc_macro else "proc-macro"


def _side_kind(folder: str) -> str:
    """Say what a whole package is that stands among examples, tests or benchmarks; empty for a product."""
    for part in folder.split("/"):
        for name, kind in (("example", "example"), ("test", "test"), ("bench", "bench")):
            if re.search(rf"(?:^|[-_]){name}(?:s|es|marks)?$", part):
                return kind
    return ""


def parse_packages(manifests: Mapping[str, bytes]) -> tuple[tuple[Package, ...], dict[str, str]]:
    """Parse all `Cargo.toml` by path. Returns the packages, and for each bad manifest the reason."""
    documents: dict[str, Mapping[str, Any]] = {}
    failed: dict[str, str] = {}
    for path, data in manifests.items():
        document, reason = _document(data)
        if document is None:
            failed[path] = f"not a Cargo manifest: {reason}"
        else:
            documents[dirname(path)] = document
    workspaces = {
        folder: document["workspace"]
        for folder, document in documents.items()
        if isinstance(document.get("workspace"), dict)
    }
    renamed = _renamed_in_workspaces(workspaces.values())
    packages = [
        _package(folder, document, _is_member(folder, workspaces), renamed)
        for folder, document in sorted(documents.items())
        if isinstance(document.get("package"), dict)
    ]
    return tuple(packages), failed


@lru_cache(maxsize=1024)
def _document(data: bytes) -> tuple[Mapping[str, Any] | None, str]:
    """Read a manifest once: the choice of a profile, the link and the next commit want it again.

    Returns the reason where it is none.
    """
    try:
        return tomllib.loads(data.decode("utf-8")), ""
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, str(error)
    except RecursionError:
        return None, "nested too deeply"


def _is_member(folder: str, workspaces: Mapping[str, Mapping[str, Any]]) -> bool:
    for root, workspace in workspaces.items():
        if folder == root:
            return True
        prefix = f"{root}/" if root else ""
        if not folder.startswith(prefix):
            continue
        inside = folder[len(prefix) :]
        if any(_covers(pattern, inside) for pattern in _strings(workspace.get("exclude"))):
            continue
        if any(_covers(pattern, inside) for pattern in _strings(workspace.get("members"))):
            return True
    return False


def _covers(pattern: str, folder: str) -> bool:
    cleaned = normpath(pattern)
    return cleaned.count("/") == folder.count("/") and fnmatchcase(folder, cleaned)


def _strings(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _renamed_in_workspaces(workspaces: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the real names of the dependencies that a workspace renames for its members."""
    found: dict[str, str] = {}
    for workspace in workspaces:
        found.update(_renamed(workspace.get("dependencies")))
    return found


def _renamed(table: object) -> dict[str, str]:
    return {
        alias: requirement["package"]
        for alias, requirement in (table.items() if isinstance(table, dict) else ())
        if isinstance(requirement, dict) and isinstance(requirement.get("package"), str)
    }


def _requirements(document: Mapping[str, Any], renamed: Mapping[str, str]) -> frozenset[str]:
    platforms = document.get("target")
    holders = [document, *(platforms.values() if isinstance(platforms, dict) else ())]
    tables = [holder.get("dependencies") for holder in holders if isinstance(holder, dict)]
    found: set[str] = set()
    for table in tables:
        own = _renamed(table)
        for alias, requirement in table.items() if isinstance(table, dict) else ():
            is_inherited = isinstance(requirement, dict) and requirement.get("workspace") is True
            found.add(own.get(alias) or (renamed.get(alias, alias) if is_inherited else alias))
    return frozenset(found)


def _package(
    folder: str, document: Mapping[str, Any], is_member: bool, renamed: Mapping[str, str]
) -> Package:
    name = document["package"].get("name")
    optional: set[str] = set()
    dependencies: set[str] = set()
    for table in _dependency_tables(document):
        for dependency, requirement in table.items():
            dependencies.add(dependency)
            if isinstance(requirement, dict) and requirement.get("optional") is True:
                optional.add(dependency)
    declared = document.get("features")
    features = {
        feature: tuple(_strings(enables))
        for feature, enables in (declared.items() if isinstance(declared, dict) else ())
    }
    explicit = {entry for enables in features.values() for entry in enables if entry.startswith("dep:")}
    for dependency in optional:
        if f"dep:{dependency}" not in explicit:
            features.setdefault(dependency, ())
    return Package(
        name=name if isinstance(name, str) else folder.rpartition("/")[2],
        folder=folder,
        is_workspace_member=is_member,
        features=features,
        dependencies=frozenset(dependencies),
        targets=_targets(folder, document),
        requirements=_requirements(document, renamed),
        is_proc_macro=_is_proc_macro(document),
    )


def _is_proc_macro(document: Mapping[str, Any]) -> bool:
    library = document.get("lib")
    return isinstance(library, dict) and (library.get("proc-macro") or library.get("proc_macro")) is True


def _dependency_tables(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tables = [document.get(name) for name in ("dependencies", "dev-dependencies", "build-dependencies")]
    target = document.get("target")
    for platform in target.values() if isinstance(target, dict) else ():
        if isinstance(platform, dict):
            tables += [platform.get(name) for name in ("dependencies", "dev-dependencies")]
    return [table for table in tables if isinstance(table, dict)]


def _targets(folder: str, document: Mapping[str, Any]) -> dict[str, str]:
    prefix = f"{folder}/" if folder else ""
    found = {prefix + path: kind for path, kind in _CONVENTIONS}
    for table, kind in (("lib", "lib"), ("bin", "bin"), ("test", "test"), ("example", "example")):
        entries = document.get(table)
        for entry in entries if isinstance(entries, list) else [entries]:
            path = entry.get("path") if isinstance(entry, dict) else None
            if isinstance(path, str):
                found[normpath(prefix + path)] = kind
    return found

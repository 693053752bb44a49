"""Small workspaces for tests: files by path, linked or scanned."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from audit.rules import RULES
from audit.scanner.extract import extract
from audit.scanner.link.cargo import parse_packages
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import ScanReport
from audit.scanner.source.memory import MemorySource


def as_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    """Dedent and encode files."""
    return {path: textwrap.dedent(text).encode() for path, text in files.items()}


def linked(files: Mapping[str, str]) -> Workspace:
    """Link files; manifests are those named `Cargo.toml`."""
    data = as_bytes(files)
    packages, _ = parse_packages({path: text for path, text in data.items() if path.endswith("Cargo.toml")})
    units = [Unit(path, "", text, extract(text)) for path, text in data.items() if path.endswith(".rs")]
    return Workspace(units, packages)


def summarised(files: Mapping[str, str]) -> Summaries:
    """Link files and compute effects under the default profile."""
    workspace = linked(files)
    return Summaries(workspace, Resolver(workspace), load_profile())


def function_named(workspace: Workspace, name: str) -> Fn:
    """Return the only function of a name."""
    (function,) = workspace.by_name[name]
    return function


def scanned(files: Mapping[str, str]) -> ScanReport:
    """Scan files with all rules under the default profile."""
    return scan(MemorySource(as_bytes(files)), profile=load_profile(), rules=RULES)

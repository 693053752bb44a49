"""A linked workspace for readers outside a scan: the same facts, without rules."""

from __future__ import annotations

from audit.scanner.extract import extract
from audit.scanner.extract.facts import FileFacts
from audit.scanner.link.cargo import parse_packages
from audit.scanner.link.unit import Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.source.base import Content, Source


def _facts(content: Content) -> FileFacts | None:
    try:
        content.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return extract(content.data)


def read_workspace(source: Source) -> Workspace:
    """Read and link every Rust file of a source; files that can't be read are left out."""
    wanted = [
        entry
        for entry in source.entries()
        if entry.path.endswith((".rs", "Cargo.toml")) and not entry.skip_reason
    ]
    contents = {file.path: content for file, content in source.read(wanted) if isinstance(content, Content)}
    packages, _ = parse_packages(
        {path: content.data for path, content in contents.items() if path.endswith("Cargo.toml")}
    )
    units = [
        Unit(path, content.blob_id, content.data, facts)
        for path, content in contents.items()
        if path.endswith(".rs") and (facts := _facts(content)) is not None
    ]
    return Workspace(units, packages)

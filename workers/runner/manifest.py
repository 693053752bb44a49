"""What a test bundle says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workers.protocol.codec import MalformedError

BUNDLE_VERSION = 1
MANIFEST_NAME = "manifest.json"

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BundledFile:
    """One file of the bundle, by its path in it."""

    path: str
    sha256: str
    size: int

    def __post_init__(self) -> None:
        """Refuse a path that leaves the bundle's folder, and what is no checksum."""
        check_path(self.path)
        if not _DIGEST.fullmatch(self.sha256):
            raise MalformedError(f"`{self.sha256[:80]}` is no checksum")
        if self.size < 0:
            raise MalformedError(f"a size of {self.size}")


@dataclass(frozen=True, slots=True)
class TestBinary:
    """One test binary: its cargo target, its file, the tests in it."""

    __test__ = False

    name: str
    path: str
    kind: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """A target that the compiler refused, with what it said."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """Everything that decides whether these binaries prove something about a commit on a machine.

    `cpu_features` are the target features that the compiler was allowed to use. `rustflags` are the flags it
    got; `dropped_rustflags` those of the repository's configuration that were left out, and why the binary is
    not what `cargo test` gives on the builder.
    """

    repository: str
    commit: str
    crate: str
    features: tuple[str, ...]
    target: str
    target_cpu: str
    cpu_features: tuple[str, ...]
    rustflags: tuple[str, ...]
    dropped_rustflags: tuple[str, ...]
    environment: Mapping[str, str]
    rustc: str
    command: str
    built_at: str
    binaries: tuple[TestBinary, ...]
    files: tuple[BundledFile, ...]
    not_built: tuple[NotBuilt, ...] = field(default_factory=tuple)
    version: int = BUNDLE_VERSION

    def __post_init__(self) -> None:
        """Refuse a manifest that contradicts itself."""
        if self.version != BUNDLE_VERSION:
            raise MalformedError(f"bundle version {self.version}: this runner reads {BUNDLE_VERSION}")
        paths = [file.path for file in self.files]
        if len(set(paths)) != len(paths):
            raise MalformedError("a path stands twice")
        for binary in self.binaries:
            if binary.path not in paths:
                raise MalformedError(f"binary `{binary.name}` is no file of the bundle: `{binary.path}`")


def check_path(path: str) -> None:
    """Refuse a path that is not plainly inside the folder it is unpacked to."""
    parts = PurePosixPath(path).parts
    plain = path and "\\" not in path and "\x00" not in path and not path.startswith("/")
    if not plain or ".." in parts or path != "/".join(parts):
        raise MalformedError(f"path `{path[:120]}` does not stay in the bundle")

"""What makes a SARIF log of another tool unusable, and the reason that is given for refusing it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from audit.imports.rows import ImportFormatError

VERSION = "2.1.0"
#: Names that tools give to the root of the sources that they read.
ROOT_NAMES = frozenset({"SRCROOT", "ROOTPATH", "PROJECTROOT", "REPOROOT", "SOURCEROOT"})
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_REMOTE = re.compile(r"^(?:[\w.-]+@)?(?P<host>[\w.-]+):(?P<path>[^/].*)$")


def sarif_check(log: object) -> None:
    """Raise ImportFormatError where a log's results can't be told apart or lie outside of a repository."""
    if not isinstance(log, dict) or not isinstance(log.get("runs"), list):
        raise ImportFormatError("The document has no `runs`: it is no SARIF log.")
    if log.get("version") != VERSION:
        raise ImportFormatError(f"The log's version is not {VERSION}: `{str(log.get('version'))[:40]}`.")
    for run in log["runs"]:
        if not isinstance(run, dict):
            raise ImportFormatError("A run of the log is no object.")
        results = run.get("results") or []
        if not isinstance(results, list):
            raise ImportFormatError("The results of a run are no list.")
        if not isinstance(run.get("versionControlProvenance") or [], list):
            raise ImportFormatError("The `versionControlProvenance` of a run is no list.")
        _check_places(run, [result for result in results if isinstance(result, dict)])
        _check_fingerprints([result for result in results if isinstance(result, dict)])


def tool_of(log: Mapping[str, Any]) -> str:
    """Name the tool that wrote a log."""
    names = []
    for run in log["runs"]:
        driver = run.get("tool", {}).get("driver", {}) if isinstance(run.get("tool"), dict) else {}
        name = driver.get("name") if isinstance(driver, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise ImportFormatError("A run does not name its tool: `tool.driver.name` is missing.")
        names.append(name.strip())
    return ", ".join(dict.fromkeys(names))


def repositories_of(log: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the repositories that a log says it read."""
    return [
        str(one["repositoryUri"])
        for run in log["runs"]
        for one in run.get("versionControlProvenance") or ()
        if isinstance(one, dict) and one.get("repositoryUri")
    ]


def is_same_repository(one: str, other: str) -> bool:
    """Whether two addresses, however they are fetched from, are of the same repository."""
    return _place_of(one) == _place_of(other)


def _place_of(address: str) -> tuple[str, str]:
    address = address.strip()
    remote = _REMOTE.match(address)
    if remote is not None and "://" not in address:
        host, path = remote["host"], remote["path"]
    else:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    return host.lower(), path.strip("/").removesuffix(".git").lower()


def _check_places(run: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
    bases = run.get("originalUriBaseIds")
    bases = bases if isinstance(bases, dict) else {}
    for number, artifact in _artifacts(results):
        uri, base = str(artifact.get("uri", "")), artifact.get("uriBaseId")
        path = unquote(uri)
        if path.startswith(("/", "\\")) or _DRIVE.match(path) or _SCHEME.match(path):
            raise ImportFormatError(
                f"Result {number} has an absolute path, `{uri[:120]}`: paths are relative to the "
                "repository's root."
            )
        if ".." in path.replace("\\", "/").split("/"):
            raise ImportFormatError(f"Result {number} leads out of the repository: `{uri[:120]}`.")
        if base is not None:
            _check_base(number, str(base), bases)


def _check_base(number: int, name: str, bases: Mapping[str, Any]) -> None:
    seen: set[str] = set()
    while name:
        if name.strip("%").upper() not in ROOT_NAMES:
            raise ImportFormatError(
                f"Result {number} is relative to `{name[:80]}`, which is not the root of a repository: "
                "use `%SRCROOT%`."
            )
        if name in seen:
            raise ImportFormatError(f"The base `{name[:80]}` is relative to itself.")
        seen.add(name)
        base = bases.get(name)
        base = base if isinstance(base, dict) else {}
        uri = str(base.get("uri", ""))
        if uri and not _SCHEME.match(uri):
            raise ImportFormatError(
                f"The base `{name[:80]}` is the folder `{uri[:120]}` of something else, and not the root of "
                "a repository."
            )
        name = str(base.get("uriBaseId") or "")


def _artifacts(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, result in enumerate(results, 1):
        locations = result.get("locations")
        for location in locations if isinstance(locations, list) else ():
            physical = location.get("physicalLocation") if isinstance(location, dict) else None
            artifact = physical.get("artifactLocation") if isinstance(physical, dict) else None
            if isinstance(artifact, dict):
                yield number, artifact


def _check_fingerprints(results: Sequence[Mapping[str, Any]]) -> None:
    """Raise where a fingerprint is the same for results of different rules or places."""
    for kind in ("fingerprints", "partialFingerprints"):
        values: dict[str, list[str]] = defaultdict(list)
        subjects: dict[str, set[str]] = defaultdict(set)
        for result in results:
            prints = result.get(kind)
            for name, value in prints.items() if isinstance(prints, dict) else ():
                values[name].append(str(value))
                subjects[name].add(f"{result.get('ruleId')} {result.get('locations')}")
        for name, given in values.items():
            if len(given) > 1 and len(set(given)) == 1 and len(subjects[name]) > 1:
                raise ImportFormatError(
                    f"The fingerprint `{name[:80]}` is the same, `{given[0][:80]}`, for all {len(given)} "
                    "results: it tells none from another."
                )

"""The locks: complete, hashed, free of addresses, and what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "docker/app.lock", "docker/runner.lock")
PIN = re.compile(r"^(?P<name>[a-zA-Z0-9._-]+)==(?P<version>\S+)(?: ; (?P<marker>.*?))? \\$")
# The two ends of what is supported, as a marker sees them.
PYTHONS = ("3.11", "3.13")


def blocks(lock: str) -> dict[str, list[str]]:
    """Return the lines of each pinned package, by its name and marker."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (ROOT / lock).read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            current = found.setdefault(line, [])
        elif line.lstrip().startswith("--hash"):
            current.append(line)
    return found


def pins(lock: str, python: str) -> dict[str, str]:
    """Return the version of each package that the lock installs on Linux with that Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    environment |= {"platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"}
    found: dict[str, str] = {}
    for line in blocks(lock):
        match = PIN.match(line)
        assert match is not None, f"{lock}: `{line}` is no pin"
        if match["marker"] is None or Marker(match["marker"]).evaluate(environment):
            found[canonicalize_name(match["name"])] = match["version"]
    return found


def wanted(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    lists = [project["dependencies"], *(optional[extra] for extra in extras or optional)]
    return [Requirement(text) for texts in lists for text in texts]


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("lock", "extras"),
    [(LOCKS[0], ()), (LOCKS[1], ("web", "ptx", "schedule")), (LOCKS[2], ("runner", "tracer"))],
)
def test_a_lock_satisfies_what_the_project_asks_for(lock: str, extras: tuple[str, ...], python: str) -> None:
    locked = pins(lock, python)
    for requirement in wanted(*extras):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{lock} lacks {requirement}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), (
            f"{lock}: {requirement} is not {version}"
        )


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_hashes(lock: str) -> None:
    assert blocks(lock)
    assert [line for line, hashes in blocks(lock).items() if not hashes] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_address_and_no_path(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert re.findall(r"https?://|file:|--index|--find-links|^/|@ ", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize("lock", LOCKS[1:])
def test_the_images_get_the_versions_that_were_tested(lock: str) -> None:
    everything = pins(LOCKS[0], "3.13")
    assert {
        name: version for name, version in pins(lock, "3.13").items() if everything.get(name) != version
    } == {}

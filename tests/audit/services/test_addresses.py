"""What the administrator lets be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from audit.errors import RepositoryNotUsableError
from audit.services.addresses import location_from_here, location_read
from audit.services.credentials import reference_check


def test_a_host_outside_the_list_is_refused_with_the_list(settings: Settings) -> None:
    settings.REPOSITORY_HOSTS = ["github.com", "*.example.org"]
    for allowed in ("https://github.com/a/b", "https://GitHub.com/a/b", "git@git.example.org:a/b.git"):
        assert location_read(allowed)[0] == "git-url"
    for refused in (
        "https://example.org/a",
        "https://github.com.evil.net/a",
        "ssh://git@evil.net/github.com",
    ):
        with pytest.raises(RepositoryNotUsableError, match=r"`\*\.example\.org`, with REPOSITORY_HOSTS"):
            location_read(refused)


def test_a_scheme_outside_the_list_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.REPOSITORY_SCHEMES = ["https", "ext"]
    for refused in ("ssh://git@example.org/a.git", "file:///srv/a", "ext::sh://x", "http://example.org/a"):
        with pytest.raises(RepositoryNotUsableError):
            location_read(refused)
    with pytest.raises(RepositoryNotUsableError, match="`file` is not among REPOSITORY_SCHEMES"):
        location_read(str(tmp_path))


def test_a_folder_outside_the_list_is_refused_also_through_a_link(settings: Settings, tmp_path: Path) -> None:
    for name in ("open/project", "closed/project"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed" / "project")
    settings.REPOSITORY_PATHS = [str(tmp_path / "open")]
    assert location_read(str(tmp_path / "open" / "project"))[0] == "folder"
    for refused in ("closed/project", "open/link", "open/../closed/project"):
        with pytest.raises(RepositoryNotUsableError, match="REPOSITORY_PATHS"):
            location_read(str(tmp_path / refused))
    with pytest.raises(RepositoryNotUsableError, match="REPOSITORY_PATHS"):
        location_read((tmp_path / "open" / "link").as_uri())


def test_a_link_to_the_whole_disk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(RepositoryNotUsableError, match="whole disk"):
        location_read(str(tmp_path / "link"))


def test_a_relative_path_is_meant_from_where_a_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    monkeypatch.chdir(tmp_path)
    assert location_from_here("torch") == str(tmp_path / "torch")
    assert location_from_here("https://example.org/a") == "https://example.org/a"
    with pytest.raises(RepositoryNotUsableError, match="no absolute path"):
        location_read("torch")


@pytest.mark.parametrize(
    "given",
    ["hunter2", "https://me:x@example.org", "env:SECRET_KEY", "file:../x", "file:/etc/x", "env:"],
)
def test_what_is_no_reference_to_credentials_is_refused(given: str) -> None:
    with pytest.raises(RepositoryNotUsableError):
        reference_check(given)

"""A runner is told who it is by its environment, and keeps its secrets to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.protocol.report import Registration
from workers.runner.configuration import ConfigurationError, read_configuration, write_configuration

KEY = "k" * 64
GIVEN = {
    "RUNNER_NAME": "rack-1",
    "RUNNER_KEY": KEY,
    "RUNNER_KEY_ID": "rack-1.1",
    "RUNNER_BROKER_URL": "redis://broker:6379/0",
}


def test_what_a_registration_wrote_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "made" / "runner.env"
    registration = Registration("rack-1", "token", KEY, "rack-1.1", "redis://u:p@broker:6379/0")
    write_configuration(file, registration, "https://audit.example.org")
    assert file.stat().st_mode & 0o777 == 0o600
    read = read_configuration({"RUNNER_CONFIG": str(file)})
    assert (read.name, read.token, read.key) == ("rack-1", "token", KEY.encode())
    assert (read.server, read.broker_url) == ("https://audit.example.org", "redis://u:p@broker:6379/0")


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "runner.env"
    write_configuration(file, Registration("rack-1", "t", KEY, "rack-1.1", "redis://b"), "")
    read = read_configuration({"RUNNER_CONFIG": str(file), "RUNNER_WORK": "/srv/work"})
    assert read.work == Path("/srv/work") and read.server == ""


def test_a_configuration_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "runner.env"
    file.write_text("RUNNER_NAME=rack-1\n")
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        read_configuration({"RUNNER_CONFIG": str(file)})


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        read_configuration({key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize("server", ["http://audit.example.org", "ftp://x", "audit.example.org"])
def test_a_token_does_not_travel_in_the_open(server: str) -> None:
    with pytest.raises(ConfigurationError, match="https"):
        read_configuration({**GIVEN, "RUNNER_SERVER": server, "RUNNER_TOKEN": "t"})


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 32"):
        read_configuration({**GIVEN, "RUNNER_KEY": "short"})

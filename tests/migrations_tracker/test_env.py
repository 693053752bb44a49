"""Typed readers: right values, clear failures, and a complete list of what was read."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from migrations_tracker.env import Environment


@pytest.mark.parametrize(
    ("word", "value"), [("yes", True), ("1", True), ("TRUE", True), ("no", False), ("off", False)]
)
def test_the_usual_spellings_of_yes_and_no_are_understood(word: str, value: bool) -> None:
    assert Environment({"X": word}).flag("X", default=not value, meaning="") is value


def test_another_spelling_is_an_error_and_never_a_no() -> None:
    with pytest.raises(ImproperlyConfigured, match="X is `yep`"):
        Environment({"X": "yep"}).flag("X", default=False, meaning="")


def test_a_number_that_is_none_names_its_variable() -> None:
    with pytest.raises(ImproperlyConfigured, match="X is `many`"):
        Environment({"X": "many"}).number("X", default=1, meaning="")


def test_an_empty_variable_is_the_same_as_none() -> None:
    environment = Environment({"X": ""})
    assert environment.number("X", default=7, meaning="") == 7
    assert environment.names("X", default=("a", "b"), meaning="") == ["a", "b"]
    assert environment.text("X", default="a", meaning="") == "a"


def test_a_list_is_read_without_its_spaces() -> None:
    assert Environment({"X": " a, b ,,"}).names("X", meaning="") == ["a", "b"]


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("word\n")
    environment = Environment({"X_FILE": str(tmp_path / "secret"), "X": "another"})
    assert environment.secret("X", meaning="") == "word"


def test_a_file_of_a_secret_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="X_FILE names"):
        Environment({"X_FILE": str(tmp_path / "none")}).secret("X", meaning="")


def test_the_environment_wins_over_a_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# comment\n\nX=file\nexport Y='quoted'\nZ=a=b\n")
    environment = Environment({"X": "environment"})
    environment.load_file(tmp_path / ".env")
    assert (environment.source["X"], environment.source["Y"], environment.source["Z"]) == (
        "environment",
        "quoted",
        "a=b",
    )


def test_a_line_that_is_no_assignment_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("X=1\nnonsense\n")
    with pytest.raises(ImproperlyConfigured, match="line 2"):
        Environment({}).load_file(tmp_path / ".env")


def test_a_database_address_becomes_djangos_settings() -> None:
    database = Environment({"X": "postgresql://me:p%40ss@host:5433/name"}).database("X", meaning="")
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["USER"], database["PASSWORD"], database["HOST"]) == ("me", "p@ss", "host")
    assert (database["PORT"], database["NAME"]) == (5433, "name")


def test_another_database_than_postgresql_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="X must be an address"):
        Environment({"X": "sqlite:///file"}).database("X", meaning="")


def test_every_variable_that_was_read_is_remembered_with_its_meaning() -> None:
    environment = Environment({})
    environment.text("A", meaning="first")
    environment.flag("B", default=True, meaning="second")
    assert [(variable.name, variable.default) for variable in environment.variables] == [
        ("A", ""),
        ("B", "yes"),
    ]


def test_every_variable_of_the_settings_is_explained() -> None:
    from migrations_tracker import settings

    assert [variable.name for variable in settings.env.variables if not variable.meaning.endswith(".")] == []


def test_a_word_that_is_none_of_the_choices_is_an_error() -> None:
    words = ("off", "required")
    for said, meant in (("Required ", "required"), ("", "off"), ("off", "off")):
        assert Environment({"FACTOR": said}).choice("FACTOR", words, default="off", meaning="x") == meant
    with pytest.raises(ImproperlyConfigured, match="FACTOR is `on`: write one of off, required"):
        Environment({"FACTOR": "on"}).choice("FACTOR", words, default="off", meaning="x")

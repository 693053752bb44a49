"""The page on profiles says of every key what it means, with an example that works and the default."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from audit.scanner.profile import PROFILE_SECTIONS, parse_profile, profile_names
from audit.scanner.profile_choice import FAMILIES

PAGE = (Path(__file__).parents[3] / "docs" / "write-a-profile.md").read_text("utf-8")
CELLS = re.compile(r"(?<!\\)\|")


def _rows(heading: str) -> dict[str, list[str]]:
    """Return the cells of the table below a heading, by the key in the first one."""
    part = PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    rows = [
        [cell.strip().replace(r"\|", "|") for cell in CELLS.split(line)[1:-1]]
        for line in part.splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in rows}


def _entries() -> list[tuple[str, str]]:
    return [(key, name) for key, section in PROFILE_SECTIONS.items() for name in section._fields]


@pytest.mark.parametrize("key", PROFILE_SECTIONS)
def test_a_table_lists_exactly_the_keys_of_its_section(key: str) -> None:
    assert set(_rows(f"`[{key}]`")) == {*PROFILE_SECTIONS[key]._fields}


@pytest.mark.parametrize(("key", "word"), _entries())
def test_an_example_is_a_value_that_a_profile_takes(key: str, word: str) -> None:
    meaning, example, _ = _rows(f"`[{key}]`")[word]
    assert len(meaning) > 10
    text = f'name = "mine"\nextends = "generic"\n[{key}]\n{word} = {example.strip("`")}\n'
    assert getattr(getattr(parse_profile(text, "mine.toml"), key), word)


@pytest.mark.parametrize(("key", "word"), _entries())
def test_a_default_is_the_one_of_the_code(key: str, word: str) -> None:
    said = _rows(f"`[{key}]`")[word][2]
    defaults = PROFILE_SECTIONS[key]._field_defaults
    if word not in defaults:
        assert said == "required"
    elif defaults[word] == ():
        assert said == "none"
    else:
        assert tuple(tomllib.loads(f"x = {said.strip('`')}")["x"]) == defaults[word]


def test_the_top_level_is_documented() -> None:
    assert list(_rows("Top level")) == ["name", "extends", "levels", "ptx_targets"]


def test_every_profile_and_every_package_that_chooses_one_is_named() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE)) >= set(profile_names())
    assert [name for family in FAMILIES for name in family.packages if f"`{name}`" not in PAGE] == []


def test_the_small_example_is_a_profile() -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    profile = parse_profile(text, "mine.toml")
    assert "fetch_back" in profile.transfer.download_methods
    assert "clone_dtoh" in profile.transfer.download_methods
    assert profile.gpu.crates == ("mine-kernels",)

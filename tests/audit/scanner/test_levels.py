"""A project gives rules other levels, by profile or by option; nothing else of a result changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from audit.rules import RULES
from audit.scanner.cli import main
from audit.scanner.levels import levels_by_rule, with_levels
from audit.scanner.profile import ProfileError, parse_profile
from audit.scanner.report import Level
from tests.audit.scanner.git_fixture import MANIFEST, write_tree
from tests.audit.scanner.output.test_sarif import valid
from tests.audit.scanner.report_fixture import make_report, make_result

PROFILE = 'name = "mine"\nextends = "ferrotorch"\n'
DEFERRED = 'pub fn gpu_add(a: &CudaBuffer<f32>) -> Result<CudaBuffer<f32>> {\n    todo!("no kernel yet")\n}\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    manifest = MANIFEST.replace("demo", "ferrotorch-gpu")
    write_tree(tmp_path / "crate", {"Cargo.toml": manifest, "src/lib.rs": DEFERRED})
    return tmp_path / "crate"


def scanned(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    main([*(str(argument) for argument in arguments), "--jobs", "1", "--format", "sarif"])
    log: dict[str, Any] = json.loads(capsys.readouterr().out)
    run: dict[str, Any] = valid(log)
    return run


def of_rule(run: dict[str, Any], rule_id: str) -> list[dict[str, Any]]:
    return [result for result in run["results"] if result["ruleId"] == rule_id]


def test_an_option_changes_the_level_and_nothing_else(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = of_rule(scanned(capsys, crate), "FT003")
    run = scanned(capsys, crate, "--level", "deferred-kernel=note")
    after = of_rule(run, "FT003")
    assert [one["level"] for one in before] == ["error"]
    assert after == [{**before[0], "level": "note"}]
    (override,) = run["invocations"][0]["ruleConfigurationOverrides"]
    assert override["descriptor"]["id"] == "FT003"
    assert run["tool"]["driver"]["rules"][override["descriptor"]["index"]]["id"] == "FT003"
    assert override["configuration"] == {"level": "note"}


def test_a_profile_sets_levels_and_the_option_goes_before_it(
    crate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(f'{PROFILE}[levels]\nFT003 = "warning"\n', "utf-8")
    assert of_rule(scanned(capsys, crate, "--profile", profile), "FT003")[0]["level"] == "warning"
    run = scanned(capsys, crate, "--profile", profile, "--level", "FT003=none")
    assert of_rule(run, "FT003")[0]["level"] == "none"


def test_level_none_fails_no_check_and_is_still_listed(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ("--rules", "deferred-kernel", "--jobs", "1")
    assert main([str(crate), *rules]) == 1
    capsys.readouterr()
    assert main([str(crate), *rules, "--level", "FT003=none"]) == 0
    text = capsys.readouterr().out
    assert "1 more result of level none, which fails no check" in text
    assert "levels set by the project: FT003 none" in text


def test_github_is_told_of_level_none_as_a_note(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = scanned(capsys, crate, "--sarif-for", "github", "--rules", "FT003")
    lowered = scanned(capsys, crate, "--sarif-for", "github", "--rules", "FT003", "--level", "FT003=none")
    levels = [[result["level"] for result in log["results"]] for log in (told, lowered)]
    assert levels == [["error"], ["note"]]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("FT003", "is not RULE=LEVEL; levels are error, warning, note, none"),
        ("FT003=off", "is not RULE=LEVEL"),
        ("defered-kernel=note", "did you mean deferred-kernel?"),
    ],
)
def test_a_wrong_level_is_wrong_usage(
    crate: Path, word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(crate), "--level", word])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('levels = "note"', "`levels` must be a table"),
        ('[levels]\nFT003 = "off"', "`levels.FT003` must be one of"),
        ("[levels]\nFT003 = 1", "`levels.FT003` must be one of"),
    ],
)
def test_a_profile_with_a_wrong_level_is_refused(table: str, message: str) -> None:
    with pytest.raises(ProfileError, match=re.escape(message)):
        parse_profile(f"{PROFILE}{table}\n", "mine.toml")


def test_a_profile_names_rules_that_are_there_and_each_once() -> None:
    with pytest.raises(ProfileError, match="no rule of this id or name"):
        levels_by_rule([("FT099", Level.NOTE)], RULES)
    with pytest.raises(ProfileError, match="FT003 is set twice"):
        levels_by_rule([("FT003", Level.NOTE), ("deferred-kernel", Level.ERROR)], RULES)


def test_a_level_that_a_rule_chose_for_one_result_gives_way_too() -> None:
    result = make_result(level=Level.WARNING)
    report = with_levels(make_report(result), {result.rule_id: Level.ERROR})
    assert report.results == (result._replace(level=Level.ERROR),)

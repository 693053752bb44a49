"""The rule that docs/write-a-rule.md shows works as it stands there."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from audit.rules import RULES
from audit.rules.base import Example, Rule
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.source.memory import MemorySource
from tests.audit.rules.test_examples import SECTIONS, example_files

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "write-a-rule.md").read_text(encoding="utf-8")
NAME = "audit.rules.device_panic"


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def rule() -> Iterator[Rule]:
    module = ModuleType(NAME)
    sys.modules[NAME] = module
    exec(block("python"), module.__dict__)  # noqa: S102  (the document's own code)
    yield module.DevicePanic()
    del sys.modules[NAME]


def forms_on_marked_lines(rule: Rule, example: Example) -> set[str]:
    report = scan(
        MemorySource(example_files(example)), profile=load_profile(example.profile), rules=(*RULES, rule)
    )
    own = [result for result in report.results if result.rule_id == rule.id]
    assert {result.region.start_line for result in own} == example.flagged_lines
    return {result.form for result in own}


def test_exactly_the_marked_lines_of_its_examples_are_flagged(rule: Rule) -> None:
    forms = {
        form for example in (*rule.invalid, *rule.valid) for form in forms_on_marked_lines(rule, example)
    }
    entry = tomllib.loads(block("toml"))["form"][0]
    assert (forms, entry["rules"]) == ({entry["key"]}, [rule.id])


def test_it_has_all_that_a_rule_needs(rule: Rule) -> None:
    assert [section for section in SECTIONS if section not in (rule.__doc__ or "")] == []
    assert rule.id not in {one.id for one in RULES}, "the document shows a rule that is not there yet"
    assert rule.name not in {one.name for one in RULES}

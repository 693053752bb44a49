"""Every example of every rule is scanned: exactly its marked lines are flagged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import audit.rules
from audit.rules import RULES
from audit.rules.base import Example, Rule
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.source.memory import MemorySource

SECTIONS = ("## What it does", "## Why is this bad?", "## Use instead", "## Known problems")
WORKSPACE = """[workspace]
members = ["ferrotorch-gpu", "ferrotorch-core", "ferrotorch-nn", "ferrotorch-cubecl", "ferrotorch-xpu"]
"""


ASSEMBLER = find_assembler()


def example_files(example: Example) -> dict[str, bytes]:
    """Return the workspace that an example stands in."""
    files = {"Cargo.toml": WORKSPACE, example.path: example.source, **example.others}
    names = {path.split("/")[0] for path in files if "/" in path}
    for name in names:
        others = "".join(f'{other} = {{ path = "../{other}" }}\n' for other in sorted(names - {name}))
        features = '[features]\ndefault = ["cuda"]\ncuda = []\nwgpu = []\n'
        files.setdefault(
            f"{name}/Cargo.toml", f'[package]\nname = "{name}"\n{features}[dependencies]\n{others}'
        )
    return {path: text.encode() for path, text in files.items()}


def _cases() -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.id}-{example.title}")
        for rule in RULES
        for example in (*rule.invalid, *rule.valid)
    ]


@pytest.mark.parametrize(("rule", "example"), _cases())
def test_exactly_the_marked_lines_are_flagged(rule: Rule, example: Example) -> None:
    if rule.needs_assembler:
        assert ASSEMBLER is not None, "the extra `ptx` brings the assembler"
    report = scan(
        MemorySource(example_files(example)),
        profile=load_profile(example.profile),
        rules=RULES,
        assembler=ASSEMBLER,
    )
    flagged = {
        result.region.start_line
        for result in report.results
        if result.rule_id == rule.id and result.path == example.path
    }
    assert flagged == example.flagged_lines, [
        (result.rule_id, result.region.start_line, result.form) for result in report.results
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_has_every_section_and_examples_of_both_kinds(rule: Rule) -> None:
    assert rule.__doc__ is not None
    assert [section for section in SECTIONS if section not in rule.__doc__] == []
    assert "Checks for" in rule.__doc__
    assert rule.invalid
    assert rule.valid
    assert all(example.flagged_lines for example in rule.invalid)
    assert not any(example.flagged_lines for example in rule.valid)


def test_rules_stand_in_the_order_of_their_ids_with_names_of_their_own() -> None:
    assert [rule.id for rule in RULES] == sorted({rule.id for rule in RULES})
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(re.fullmatch(r"FT0\d\d", rule.id) for rule in RULES)


def test_every_rule_module_is_registered() -> None:

    folder = Path(audit.rules.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "base", "doc"}
    assert modules == {type(rule).__module__.rpartition(".")[2] for rule in RULES}

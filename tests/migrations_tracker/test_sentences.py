"""Each sentence that the product composes of a project's code is registered, and rests on a clause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from audit.parity import rationale as parity_rationale
from audit.parity import sentences as parity_sentences
from audit.parity.capability import Case, State
from audit.parity.catalogue import Direction, newest
from audit.policy.clauses import load_policy
from audit.policy.sentences import Sentence
from audit.rules import RULES
from audit.scanner.report import Outcome
from audit.scanner.vocabulary import forbidden_phrases
from migrations_tracker.reports import csv_tables, document, markdown, pdf
from migrations_tracker.reports import sentences as report_sentences
from migrations_tracker.scheduling import clauses as unit_sentences
from migrations_tracker.scheduling import rationale as unit_rationale
from migrations_tracker.scheduling.catalogue import FixCategory, default_catalogue
from migrations_tracker.scheduling.clauses import (
    CATEGORY_CLAUSES,
    GAP_RULE,
    NEED_CLAUSES,
    PRECEDENCE_CLAUSES,
    UNIT_KIND_CLAUSES,
    clauses_of_rule_name,
    clauses_of_unit,
)
from migrations_tracker.scheduling.items import Need, NeedKind
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.scheduling.units import Phase, UnitKind, WorkUnit
from migrations_tracker.selectors.clause_rests import SENTENCES

CLAUSES = {clause.id for clause in load_policy().clauses}
ALL = [sentence for group in SENTENCES.values() for sentence in group]
REGISTRIES = {
    parity_sentences: "In rationales",
    report_sentences: "In reports",
    unit_sentences: "In work units",
}
# The modules that compose what people read of a project's code. They may hold no sentence of their own.
SPEAKERS = (parity_rationale, unit_rationale, markdown, csv_tables, pdf, document)
TEMPLATES = ("report_body.html", "report_remark.html", "rationale.html")
ROOT = Path(__file__).parents[2]
# Five words in a row and an end: no heading, label or piece of a list is that.
SENTENCE = re.compile(r"(?:[\w'’]+,? ){4,}[\w'’]+[.?!]$")


def texts(module: ModuleType) -> Iterator[str]:
    """Yield the strings of a module as they are written, docstrings left out and places as a word."""
    assert module.__file__
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in docs or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "word" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("sentence", ALL, ids=lambda sentence: sentence.key)
def test_every_sentence_rests_on_clauses_that_exist_and_is_none_that_the_policy_forbids(
    sentence: Sentence,
) -> None:
    assert sentence.clauses
    assert set(sentence.clauses) <= CLAUSES
    assert len(set(sentence.clauses)) == len(sentence.clauses)
    assert not list(forbidden_phrases(sentence.shown))


def test_no_key_is_given_twice() -> None:
    keys = [sentence.key for sentence in ALL]
    assert sorted(set(keys)) == sorted(keys)


@pytest.mark.parametrize("module", REGISTRIES, ids=lambda module: module.__name__)
def test_a_sentence_that_is_defined_is_registered(module: ModuleType) -> None:
    defined = {value.key for value in vars(module).values() if isinstance(value, Sentence)}
    registered = {sentence.key for sentence in SENTENCES[REGISTRIES[module]]}
    assert defined <= registered
    if module is parity_sentences:
        assert registered - defined == {f"now-{state}" for state in State}
    else:
        assert registered == defined


@pytest.mark.parametrize("module", SPEAKERS, ids=lambda module: module.__name__)
def test_no_sentence_is_written_beside_the_registries(module: ModuleType) -> None:
    assert [text for text in texts(module) if SENTENCE.search(text.strip())] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_sentence_is_written_in_the_templates_of_reports_and_rationales(name: str) -> None:
    text = (ROOT / "templates" / "components" / name).read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "word", text)
    runs = re.split(r"\{%.*?%\}|<[^>]*>", text)
    assert [run for run in runs if SENTENCE.search(run.strip())] == []


def test_what_finds_sentences_finds_one() -> None:
    assert SENTENCE.search("What no GPU has looked at is not called implemented here.")
    assert SENTENCE.search("Removed word, or what was flagged in it.")
    assert not SENTENCE.search("## What would close the rest")


@pytest.mark.parametrize(
    ("links", "keys"),
    [
        (UNIT_KIND_CLAUSES, UnitKind),
        (CATEGORY_CLAUSES, FixCategory),
        (NEED_CLAUSES, NeedKind),
        (PRECEDENCE_CLAUSES, PrecedenceReason),
    ],
    ids=["kinds", "categories", "needs", "precedences"],
)
def test_every_kind_of_the_plan_rests_on_clauses_that_exist(
    links: dict[str, tuple[str, ...]], keys: type
) -> None:
    assert set(links) == set(keys)  # type: ignore[call-overload]
    for key, ids in links.items():
        assert ids, key
        assert set(ids) <= CLAUSES, key


def test_every_reason_of_the_catalogue_rests_on_clauses() -> None:
    catalogue = default_catalogue()
    assert set(catalogue.rules) == {rule.name for rule in RULES} | {GAP_RULE}
    for name in catalogue.rules:
        assert clauses_of_rule_name(name), name
    assert set(catalogue.needs) == set(NEED_CLAUSES)
    assert clauses_of_rule_name("a-rule-that-was-retired") == ()


@pytest.mark.parametrize("outcome", [None, *Outcome])
@pytest.mark.parametrize("kind", UnitKind)
def test_a_unit_rests_on_what_it_mends_and_on_how(kind: UnitKind, outcome: Outcome | None) -> None:
    need = Need(NeedKind.SHARED_HELPER, "check") if kind is UnitKind.DECISION else None
    unit = WorkUnit(
        key="u",
        title="t",
        kind=kind,
        phase=Phase.SWEEPS,
        category=FixCategory.LOCAL_CORRECTNESS,
        reason="r",
        rules=("silent-fallback",),
        outcome=outcome,
        need=need,
    )
    found = clauses_of_unit(unit)
    assert found[:3] == ("F1", "M2", "M4")
    assert set(found) <= CLAUSES
    assert len(set(found)) == len(found)
    assert ("M6" in found) == (need is not None or outcome is Outcome.OPT_IN_FALLBACK)


@pytest.mark.parametrize("state", [None, *State])
@pytest.mark.parametrize("operator", ["aten::exp", "aten::var", "torch.nn.GELU", "gpu_rope_half_bf16"])
@pytest.mark.parametrize("direction", Direction)
def test_a_rationale_is_made_of_registered_sentences_and_names_their_clauses(
    operator: str, direction: Direction, state: State | None
) -> None:
    said = parity_rationale.of_case(newest(), Case(operator, "float32", "cuda", direction), state=state)
    patterns = {
        sentence.key: (re.compile(re.sub(r"…", ".*", re.escape(sentence.shown))), sentence.clauses)
        for sentence in SENTENCES["In rationales"]
    }
    parts = [part for part in (said.registers, said.raises, said.now, said.source) if part]
    answer, _, until = said.therefore.partition(" Until then ")
    parts += [answer, *([f"Until then {until}"] if until else [])]
    for part in parts:
        fitting = [ids for pattern, ids in patterns.values() if pattern.fullmatch(part)]
        assert fitting, part
        assert any(set(ids) <= set(said.clauses) for ids in fitting), part
    assert set(said.clauses) <= CLAUSES

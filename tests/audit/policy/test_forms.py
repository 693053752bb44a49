"""The catalogue of forms has every form that a rule reports."""

from __future__ import annotations

from audit.policy.forms import FORMS, FORMS_BY_KEY, forms_of_rule
from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.source.memory import MemorySource
from tests.audit.rules.test_examples import example_files


def test_each_form_is_there_once_with_all_that_a_page_needs() -> None:
    assert len(FORMS_BY_KEY) == len(FORMS)
    assert all(form.title and form.looks and form.fix and form.rules and form.after for form in FORMS)
    assert {rule_id for form in FORMS for rule_id in form.rules} == {rule.id for rule in RULES}


def test_each_form_that_an_example_is_reported_under_is_catalogued() -> None:
    assembler = find_assembler()
    seen: set[tuple[str, str]] = set()
    for rule in RULES:
        for example in rule.invalid:
            source = MemorySource(example_files(example))
            report = scan(source, profile=load_profile(), rules=RULES, assembler=assembler)
            seen.update((result.rule_id, result.form) for result in report.results)
    known = {(rule_id, form.key) for form in FORMS for rule_id in form.rules}
    assert len(seen) >= len(RULES)
    assert seen <= known, sorted(seen - known)


def test_the_forms_of_a_rule_are_those_that_name_it() -> None:
    assert all("FT010" in form.rules for form in forms_of_rule("FT010"))
    assert "early-return" in {form.key for form in forms_of_rule("FT010")}
    assert not forms_of_rule("FT999")

"""The forms in a list, and as what a list can be narrowed to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from audit.models import Repository
from audit.policy.forms import FORMS, FORMS_BY_KEY, Form, forms_of_rule
from audit.selectors.rules import RulePage, rule_get
from migrations_tracker.selectors.field_facts import on_default_branches


@dataclass(frozen=True, slots=True)
class FormRow:
    """A form in the list, with its rules and how many open sites it has."""

    form: Form
    rules: Sequence[RulePage]
    count: int


def form_rows(*, repositories: QuerySet[Repository]) -> list[FormRow]:
    """List the forms with how many sites are open on the default branches."""
    states = on_default_branches(repositories).filter(is_open=True)
    counts = dict(states.order_by().values_list("form").annotate(number=Count("*")))
    return forms_counted(forms=FORMS, counts=counts)


def forms_counted(*, forms: Iterable[Form], counts: Mapping[str, int]) -> list[FormRow]:
    """List forms with how many sites are open of each."""
    return [
        FormRow(form, [rule_get(rule_id=one) for one in form.rules], counts.get(form.key, 0))
        for form in forms
    ]


def form_choices(*, rule: str, chosen: str) -> list[tuple[str, str]]:
    """List the forms that a list can be narrowed to, of the rule where it is narrowed to one."""
    forms = list(forms_of_rule(rule) or FORMS)
    if chosen in FORMS_BY_KEY and FORMS_BY_KEY[chosen] not in forms:
        forms.append(FORMS_BY_KEY[chosen])
    choices = [(form.key, form.title) for form in forms]
    return choices if not chosen or chosen in FORMS_BY_KEY else [*choices, (chosen, chosen)]

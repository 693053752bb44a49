"""The rules' pages are made from their modules."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite
from audit.rules import RULES
from audit.rules.base import Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_rule_has_a_page_with_its_examples(ada_client: Client, rule: Rule) -> None:
    by_id = ada_client.get(reverse("rule-detail", args=[rule.id]))
    by_name = ada_client.get(reverse("rule-detail", args=[rule.name]))
    text = by_id.content.decode()
    assert by_name.status_code == 200
    assert ">What it does</h2>" in text
    assert text.count('class="example invalid"') == len(rule.invalid)
    assert text.count('class="example valid"') == len(rule.valid)
    flagged = sum(len(example.flagged_lines) for example in rule.invalid)
    assert text.count('<tr class="flagged">') == flagged


def test_the_list_counts_open_sites(ada_client: Client, site: FallbackSite) -> None:
    text = ada_client.get(reverse("rule-list")).content.decode()
    assert all(rule.name in text for rule in RULES)
    assert 'aria-label="1 open sites of silent-fallback"' in text

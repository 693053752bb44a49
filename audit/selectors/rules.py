"""The rules as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from audit.models import FallbackSite, Repository
from audit.rules import RULES
from audit.rules.base import Example, Rule
from audit.rules.doc import rule_doc


@dataclass(frozen=True, slots=True)
class RulePage:
    """A rule's texts, as Markdown by section title, and its examples.

    A retired rule is one that only stored sites still name.
    """

    id: str
    name: str
    level: str = ""
    message: str = ""
    summary: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    invalid: tuple[Example, ...] = ()
    valid: tuple[Example, ...] = ()
    is_retired: bool = False


def rule_list() -> tuple[RulePage, ...]:
    """List the rules in the order of their ids."""
    return _PAGES


def rule_get(*, rule_id: str) -> RulePage:
    """Return the rule with this id; an id that no rule has any more gives a retired one."""
    return _BY_KEY.get(rule_id) or RulePage(id=rule_id, name="retired rule", is_retired=True)


def rule_find(*, key: str, repositories: QuerySet[Repository]) -> RulePage | None:
    """Return the rule with this id or name, also a retired one that has sites in the repositories."""
    found = _BY_KEY.get(key) or _BY_KEY.get(key.upper())
    # PostgreSQL's texts hold no zero byte; an address may.
    if found is None and "\0" not in key:
        sites = FallbackSite.objects.filter(rule_id=key, repository__in=repositories)
        return rule_get(rule_id=key) if sites.exists() else None
    return found


def _page(rule: Rule) -> RulePage:
    doc = rule_doc(rule)
    return RulePage(
        id=rule.id,
        name=rule.name,
        level=rule.level.value,
        message=rule.message,
        summary=doc.summary,
        sections=doc.sections,
        invalid=rule.invalid,
        valid=rule.valid,
    )


_PAGES = tuple(map(_page, RULES))
_BY_KEY = {key: page for page in _PAGES for key in (page.id, page.name)}

"""A rule's page, taken from its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

from audit.rules.base import Rule

SECTIONS = ("What it does", "Why is this bad?", "Use instead", "Known problems")
_HEADING = re.compile(r"^## (?P<title>.+?)\s*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


class RuleDoc(NamedTuple):
    """The texts of a rule. `sections` maps titles to Markdown, in the order of the docstring."""

    sections: Mapping[str, str]

    @property
    def markdown(self) -> str:
        """The whole page."""
        return "\n\n".join(f"## {title}\n{body}" for title, body in self.sections.items())

    @property
    def summary(self) -> str:
        """The first sentence of what the rule does, as plain text."""
        return _SENTENCE_END.split(plain(self.sections.get("What it does", "")), 1)[0]

    @property
    def text(self) -> str:
        """The whole page as plain text."""
        return "\n\n".join(f"{title}\n{plain(body)}" for title, body in self.sections.items())


def rule_doc(rule: type[Rule] | Rule) -> RuleDoc:
    """Read the docstring of a rule."""
    page = inspect.cleandoc(rule.__doc__ or "")
    parts = _HEADING.split(page)
    titles, bodies = parts[1::2], parts[2::2]
    return RuleDoc({title: body.strip() for title, body in zip(titles, bodies, strict=True)})


def plain(markdown: str) -> str:
    """Return Markdown as text: paragraphs on one line each, code without its marks."""
    paragraphs = re.split(r"\n\s*\n", markdown.strip())
    return "\n".join(_unwrap(paragraph) for paragraph in paragraphs)


def _unwrap(paragraph: str) -> str:
    if paragraph.startswith("```"):
        return "\n".join(line for line in paragraph.splitlines() if not line.startswith("```"))
    one_line = re.sub(r"\s*\n(?![-*] |\d+\. )\s*", " ", paragraph)
    return one_line.replace("`", "")

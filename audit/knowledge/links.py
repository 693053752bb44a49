"""Cross-links in an entry's text: `[[rule:FT001]]`, `[[site:12|this one]]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

MAX_LINKS = 500


class LinkKind(StrEnum):
    """What a cross-link leads to."""

    RULE = "rule"
    CLAUSE = "clause"
    SITE = "site"
    OPERATOR = "op"
    CRATE = "crate"
    ENTRY = "entry"
    PRECEDENT = "precedent"


LINK_LABELS: Mapping[str, str] = {
    LinkKind.RULE.value: "Rule",
    LinkKind.CLAUSE.value: "Clause",
    LinkKind.SITE.value: "Site",
    LinkKind.OPERATOR.value: "Operator",
    LinkKind.CRATE.value: "Crate",
    LinkKind.ENTRY.value: "Entry",
    LinkKind.PRECEDENT.value: "Precedent",
}
LINK = re.compile(r"\[\[([^\[\]|\n]{1,320})(?:\|([^\[\]\n]{1,200}))?\]\]")
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Link:
    """A cross-link as it is written. `kind` is empty where it has none that is known."""

    kind: str
    target: str
    label: str
    line: int

    def __str__(self) -> str:
        return f"[[{self.kind}:{self.target}]]" if self.kind else f"[[{self.target}]]"


def link_parse(inner: str) -> tuple[str, str]:
    """Part what stands in brackets into kind and target; the kind is empty where none is known."""
    kind, colon, target = inner.strip().partition(":")
    kind, target = kind.strip().lower(), target.strip()
    if not colon or kind not in LINK_LABELS or not target:
        return "", inner.strip()
    if kind == LinkKind.CLAUSE:
        # A repository's own clause may be named with the repository: `clause:SLUG:P1`.
        slug, colon, clause_id = target.rpartition(":")
        target = f"{slug.strip()}{colon}{clause_id.strip().upper()}"
    if kind == LinkKind.RULE and target.upper().startswith("FT"):
        target = target.upper()
    return kind, target


def find_links(text: str) -> tuple[Link, ...]:
    """List the cross-links of a text, in order; those in code are code."""
    # What is code keeps its length and its lines, so that places stay.
    prose = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return tuple(
        Link(*link_parse(match[1]), (match[2] or "").strip(), text[: match.start()].count("\n") + 1)
        for match in list(LINK.finditer(prose))[:MAX_LINKS]
    )

"""The syntactic forms as data: what each looks like, which rules report it, and how it is mended."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from audit.scanner.report import Outcome


@dataclass(frozen=True, slots=True)
class Form:
    """A syntactic form. `after` are the outcomes that mend it, the usual one first."""

    key: str
    rules: tuple[str, ...]
    title: str
    looks: str
    fix: str
    after: tuple[Outcome, ...]


def _load() -> tuple[Form, ...]:
    text = resources.files("audit.policy").joinpath("forms.toml").read_text(encoding="utf-8")
    return tuple(
        Form(
            key=row["key"],
            rules=tuple(row["rules"]),
            title=row["title"],
            looks=" ".join(row["looks"].split()),
            fix=" ".join(row["fix"].split()),
            after=tuple(map(Outcome, row["after"])),
        )
        for row in tomllib.loads(text)["form"]
    )


FORMS = _load()
FORMS_BY_KEY: Mapping[str, Form] = {form.key: form for form in FORMS}


def forms_of_rule(rule_id: str) -> tuple[Form, ...]:
    """Return the forms that a rule tells apart."""
    return tuple(form for form in FORMS if rule_id in form.rules)

"""What comes with the package: clauses, rules, forms, and PyTorch's operators; and repositories' clauses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from django.db.models import Max
from django.urls import reverse

from audit.models import Repository, RepositoryPolicy
from audit.parity.capability import Case
from audit.parity.catalogue import Direction, newest
from audit.parity.rationale import Rationale, of_case
from audit.policy.clauses import Clause, load_policy, own_clauses
from audit.policy.forms import FORMS
from audit.rules import RULES
from audit.rules.doc import rule_doc
from audit.selectors.repository_policies import policy_newest
from audit.version import VERSION
from migrations_tracker.search.documents import Document, Source

# Raise it when a document of this module is made otherwise.
EDITION = 1


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


class ClauseSource(Source):
    """The clauses of the policy, and those that repositories add to it."""

    kind = "clause"
    label = "Policy"
    model = RepositoryPolicy

    def states(self) -> Mapping[int | None, str]:
        """Name the policy by its content, a repository's by its newest version: none is ever changed."""
        rows = RepositoryPolicy.objects.order_by().values_list("repository_id").annotate(newest=Max("number"))
        own: dict[int | None, str] = {repository_id: f"{EDITION} {newest}" for repository_id, newest in rows}
        return {None: _digest(EDITION, load_policy()), **own}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the clauses in force."""
        if scope is None:
            for clause in load_policy().clauses:
                yield clause_document(clause, address=reverse("clause-detail", args=[clause.id]))
            return
        repository = Repository.objects.get(pk=scope)
        newest = policy_newest(repository=repository)
        for clause in own_clauses(newest.clauses) if newest is not None else ():
            address = reverse("repository-clause", args=[repository.slug, clause.id])
            yield clause_document(clause, address=address, key=f"{repository.slug}:{clause.id}")


def clause_document(clause: Clause, *, address: str, key: str = "") -> Document:
    """Make a document of a clause."""
    return Document(
        key=key or clause.id,
        address=address,
        title=f"{clause.id} {clause.title}",
        text=f"{clause.text} {clause.reason} PyTorch: {clause.pytorch}",
        names=f"{clause.id} {clause.title}",
        words=clause.text,
        prose=f"{clause.kind} {clause.reason} {clause.pytorch}",
        code=f"{clause.right} {clause.wrong}",
        boost=1.3,
    )


class RuleSource(Source):
    """The rules of the scanner."""

    kind = "rule"
    label = "Rules"

    def states(self) -> Mapping[int | None, str]:
        """Name the rules by their texts."""
        return {None: _digest(EDITION, VERSION, [(rule.id, rule.__doc__) for rule in RULES])}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the registered rules."""
        for rule in RULES:
            doc = rule_doc(rule)
            examples = (*rule.invalid, *rule.valid)
            yield Document(
                key=rule.id,
                address=reverse("rule-detail", args=[rule.id]),
                title=f"{rule.id} {rule.name}",
                text=doc.text,
                names=f"{rule.id} {rule.name}",
                words=f"{rule.message} {doc.sections.get('What it does', '')}",
                prose=f"{doc.text} {' '.join(example.title for example in examples)}",
                code=" ".join(example.source for example in rule.invalid),
                rule_id=rule.id,
                boost=1.2,
            )


class FormSource(Source):
    """The syntactic forms of the rules."""

    kind = "form"
    label = "Forms"

    def states(self) -> Mapping[int | None, str]:
        """Name the forms by their texts."""
        return {None: _digest(EDITION, FORMS)}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the catalogued forms."""
        names = {rule.id: rule.name for rule in RULES}
        for form in FORMS:
            yield Document(
                key=form.key,
                address=reverse("form-detail", args=[form.key]),
                title=f"{form.title} ({form.key})",
                text=f"{form.looks} {form.fix}",
                names=f"{form.title} {form.key}",
                words=form.looks,
                prose=f"{form.fix} {' '.join(names[rule_id] for rule_id in form.rules)}",
                rule_id=form.rules[0],
                boost=1.0,
            )


class OperatorSource(Source):
    """PyTorch's operators, as the newest catalogue that is shipped knows them."""

    kind = "operator"
    label = "Operators"

    def states(self) -> Mapping[int | None, str]:
        """Name the catalogue by its version and its date."""
        catalogue = newest()
        return {None: _digest(EDITION, catalogue.version, catalogue.environment.get("taken_at"))}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield each base name, with what PyTorch does for float32 on CUDA."""
        for base in newest().by_base:
            name = f"aten::{base}"
            said = operator_rationale(name)
            is_plain = not base.startswith("_") and not base.endswith("_")
            yield Document(
                key=name,
                address=reverse("operator-anywhere", args=[name]),
                title=name,
                text=" ".join(part for part in (said.registers, said.raises, said.therefore) if part),
                names=name,
                words="PyTorch operator",
                prose=f"{said.registers} {said.raises}",
                boost=1.0 if is_plain else 0.7,
            )


def operator_rationale(name: str) -> Rationale:
    """Say what PyTorch does for an operator in float32 on CUDA, whatever a project has."""
    return of_case(newest(), Case(name, "float32", "cuda", Direction.FORWARD))

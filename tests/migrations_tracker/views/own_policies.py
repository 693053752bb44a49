"""Policies of repositories, as people publish them and forms send them."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.urls import reverse

from audit.models import Repository, RepositoryPolicy
from audit.rules import RULES

WHY = "Agreed in the meeting."
CLAUSE = {
    "kind": "forbidden",
    "title": "No host body in the solver",
    "text": "The solver crate has no host body.",
    "reason": "No host memory is left.",
    "pytorch": "None on CUDA either.",
    "rules": ["FT001", "FT005"],
    "form_keys": "early-return",
    "why": WHY,
    "based_on": "0",
}


def page_of(repository: Repository) -> str:
    return reverse("repository-policy", args=[repository.slug])


def publish(repository: Repository, number: int, **what: object) -> RepositoryPolicy:
    """Publish a version as another person does, whole."""
    author = User.objects.get_or_create(username="hedy")[0]
    return RepositoryPolicy.objects.create(
        repository=repository,
        number=number,
        house_version="1",
        what=f"What {number} changed",
        reason=f"Reason of {number}.",
        author=author,
        **what,
    )


def with_text(text: str, **changes: object) -> dict[str, object]:
    """Return clause P1 as it is stored, with a text of its own."""
    kept = {key: CLAUSE[key] for key in ("kind", "title", "reason", "pytorch", "rules")}
    return {"id": "P1", **kept, "text": text, "forms": [], **changes}


def levels_with(**levels: str) -> dict[str, str]:
    return {**{rule.id: rule.level.value for rule in RULES}, **levels, "why": WHY}

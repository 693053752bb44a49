"""Publishing a repository's own clauses and levels. Each publication is a version, with author and reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from audit.errors import AuditError, PolicyMovedError
from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import (
    CURRENT_VERSION,
    OWN_LETTER,
    PolicyError,
    own_clause_plain,
    parse_own_clause,
)
from audit.policy.forms import FORMS_BY_KEY
from audit.rules import RULES
from audit.scanner.report import Level

MAX_REASON = 2_000
MAX_TEXT = 8_000
MAX_CLAUSES = 100
_RULE_IDS = frozenset(rule.id for rule in RULES)
_TEXTS = ("title", "text", "reason", "pytorch", "right", "wrong")


def policy_levels_publish(
    *, repository: Repository, levels: Mapping[str, str], reason: str, actor: User, based_on: int
) -> RepositoryPolicy:
    """Give rules other levels than their own; a rule that is given its own has no other any more.

    A rule that is not named keeps the level it has here: a form may be older than the rule. What was given
    to a rule that has been retired since is dropped, and named as such.

    `based_on` is the version that the author saw: one that was published since is not overwritten.
    """
    for rule_id, level in levels.items():
        if rule_id not in _RULE_IDS:
            raise AuditError(f"There is no rule {rule_id[:20]}.")
        if level not in tuple(Level):
            raise AuditError(f"`{level[:20]}` is no level.")
    default = {rule.id: rule.level.value for rule in RULES}
    with transaction.atomic():
        newest = _newest(repository, based_on)
        had = newest.levels if newest is not None else {}
        named = {**{key: level for key, level in had.items() if key in default}, **levels}
        wanted = {key: level for key, level in sorted(named.items()) if level != default[key]}
        changed = sorted(key for key in {*had, *wanted} if had.get(key) != wanted.get(key))
        if not changed:
            raise AuditError("No level is another one: there is nothing to publish.")
        what = "Levels: " + ", ".join(
            f"{key} {wanted.get(key, default[key])}" if key in default else f"{key} dropped, a retired rule"
            for key in changed
        )
        clauses = newest.clauses if newest is not None else []
        return _publish(
            repository, newest, clauses=clauses, levels=wanted, what=what, reason=reason, actor=actor
        )


def policy_clause_publish(
    *,
    repository: Repository,
    clause_id: str,
    parts: Mapping[str, Any],
    reason: str,
    actor: User,
    based_on: int,
) -> RepositoryPolicy:
    """Add a clause, or with `clause_id` change one. A number is given once and never again."""
    if any(len(parts.get(name, "")) > MAX_TEXT for name in _TEXTS):
        raise AuditError(f"No part of a clause is longer than {MAX_TEXT:,} characters.")
    with transaction.atomic():
        newest = _newest(repository, based_on)
        clauses = list(newest.clauses) if newest is not None else []
        key = clause_id or _next_id(repository)
        places = [place for place, row in enumerate(clauses) if row["id"] == key]
        if clause_id and not places:
            raise AuditError(f"The policy in force has no clause {clause_id[:12]} of this repository.")
        if len(clauses) >= MAX_CLAUSES and not places:
            raise AuditError(f"A repository has at most {MAX_CLAUSES} clauses of its own.")
        row = {name: str(parts.get(name, "")).replace("\0", "").replace("\r\n", "\n") for name in _TEXTS}
        resting = {"rules": sorted(parts.get("rules", ())), "forms": sorted(parts.get("forms", ()))}
        try:
            clause = parse_own_clause(
                {"id": key, "kind": parts.get("kind", ""), **row, **resting},
                rule_ids=_RULE_IDS,
                form_keys=FORMS_BY_KEY,
            )
        except PolicyError as error:
            raise AuditError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
        plain = own_clause_plain(clause)
        if places and clauses[places[0]] == plain:
            raise AuditError("Nothing in the clause is another: there is nothing to publish.")
        before = clauses[places[0]] if places else {}
        if places:
            clauses[places[0]] = plain
        else:
            clauses.append(plain)
        what = f"{'Changed' if places else 'Added'} {key}: {clause.title}"
        retired = sorted(set(before.get("rules", ())) - _RULE_IDS)
        if retired:
            what = f"{what[:200]}; rests no more on {', '.join(retired)}, retired"
        levels = newest.levels if newest is not None else {}
        return _publish(
            repository, newest, clauses=clauses, levels=levels, what=what, reason=reason, actor=actor
        )


def policy_clause_drop(
    *, repository: Repository, clause_id: str, reason: str, actor: User, based_on: int
) -> RepositoryPolicy:
    """Take a clause out of the policy; versions before still hold it."""
    with transaction.atomic():
        newest = _newest(repository, based_on)
        rows = newest.clauses if newest is not None else []
        dropped = [row for row in rows if row["id"] == clause_id]
        if newest is None or not dropped:
            raise AuditError(f"The policy in force has no clause {clause_id[:12]} of this repository.")
        kept = [row for row in rows if row["id"] != clause_id]
        what = f"Dropped {clause_id}: {dropped[0]['title']}"
        return _publish(
            repository, newest, clauses=kept, levels=newest.levels, what=what, reason=reason, actor=actor
        )


def _newest(repository: Repository, based_on: int) -> RepositoryPolicy | None:
    """Return the version in force with the repository locked, or raise where the author saw an older one."""
    Repository.objects.select_for_update().get(pk=repository.pk)
    newest = RepositoryPolicy.objects.filter(repository=repository).order_by("-number").first()
    if (newest.number if newest is not None else 0) != based_on:
        raise PolicyMovedError(
            "Somebody published another version meanwhile. Look at it, then publish yours."
        )
    return newest


def _next_id(repository: Repository) -> str:
    rows = RepositoryPolicy.objects.filter(repository=repository).values_list("clauses", flat=True)
    numbers = [int(clause["id"].removeprefix(OWN_LETTER)) for clauses in rows for clause in clauses]
    return f"{OWN_LETTER}{max(numbers, default=0) + 1}"


def _publish(
    repository: Repository,
    newest: RepositoryPolicy | None,
    *,
    clauses: list[dict[str, Any]],
    levels: Mapping[str, str],
    what: str,
    reason: str,
    actor: User,
) -> RepositoryPolicy:
    reason = reason.replace("\0", "").strip()[:MAX_REASON]
    if not reason:
        raise AuditError("Say why: a version of the policy is kept with its reason.")
    return RepositoryPolicy.objects.create(
        repository=repository,
        number=newest.number + 1 if newest is not None else 1,
        house_version=CURRENT_VERSION,
        clauses=clauses,
        levels=dict(levels),
        what=what[:300],
        reason=reason,
        author=actor,
    )

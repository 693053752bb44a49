"""What was published while somebody wrote, and what of their choices is shown again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import Clause, own_clauses
from audit.policy.merging import Merged, merge
from audit.rules import RULES

SHOWN = 20
_DEFAULTS = {rule.id: rule.level.value for rule in RULES}


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What was published since the version that somebody saw, newest first; `base` is that version."""

    base: RepositoryPolicy | None
    newest: RepositoryPolicy | None
    publications: Sequence[RepositoryPolicy]

    @property
    def number(self) -> int:
        """The number of the version in force; 0 for none."""
        return self.newest.number if self.newest is not None else 0


def published_since(*, repository: Repository, number: int) -> Meanwhile:
    """Return what was published since a version. A number that was never given is as if nothing was seen."""
    rows = RepositoryPolicy.objects.filter(repository=repository).select_related("author").order_by("-number")
    newest = rows.first()
    base = rows.filter(number=number).first()
    since = base.number if base is not None else 0
    known = newest.number if newest is not None else 0
    # One read after the other: what is published in between belongs to none of the three.
    return Meanwhile(base, newest, list(rows.filter(number__gt=since, number__lte=known)[:SHOWN]))


def levels_shown_again(*, meanwhile: Meanwhile, typed: Mapping[str, str]) -> dict[str, Merged]:
    """Return what to show of each rule's level: what was typed, upon what was published meanwhile.

    A rule that was not in the form is as it was.
    """
    before = _levels(meanwhile.base)
    mine = {rule_id: typed.get(rule_id) or before[rule_id] for rule_id in _DEFAULTS}
    return merge(before, _levels(meanwhile.newest), mine)


def clause_in(row: RepositoryPolicy | None, *, clause_id: str) -> Clause | None:
    """Return a repository's own clause as it stands in a publication, None where it does not."""
    rows = row.clauses if row is not None else ()
    return next((clause for clause in own_clauses(rows) if clause.id == clause_id), None)


def _levels(row: RepositoryPolicy | None) -> dict[str, str]:
    given = row.levels if row is not None else {}
    return {rule_id: given.get(rule_id, level) for rule_id, level in _DEFAULTS.items()}

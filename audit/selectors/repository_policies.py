"""The policy that a repository is held to, now and at any time before."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Subquery
from django.db.models.functions import JSONObject

from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import CURRENT_VERSION, VERSIONS, Clause, load_policy, own_clauses
from audit.policy.editions import Edition, PolicyVersion, house_edition
from audit.scanner.report import Level


def policy_newest(*, repository: Repository) -> RepositoryPolicy | None:
    """Return a repository's own policy in force, None where it never published one."""
    return RepositoryPolicy.objects.filter(repository=repository).order_by("-number").first()


def version_in_force(*, repository: Repository) -> PolicyVersion:
    """Return the version that the next scan is judged under."""
    numbers = RepositoryPolicy.objects.filter(repository=repository).order_by("-number")
    return PolicyVersion(CURRENT_VERSION, numbers.values_list("number", flat=True).first() or 0)


def edition_of(*, repository: Repository, version: PolicyVersion) -> Edition | None:
    """Return the policy of a repository at a version, None where there is no such version."""
    if version.house not in VERSIONS:
        return None
    if not version.own:
        return house_edition(version.house)
    row = RepositoryPolicy.objects.filter(repository=repository, number=version.own).first()
    return edition_of_row(row, house=version.house) if row is not None else None


def edition_of_row(row: RepositoryPolicy | None, *, house: str = CURRENT_VERSION) -> Edition:
    """Return the policy with what a row of a repository adds to it."""
    if row is None:
        return house_edition(house)
    return Edition(
        version=PolicyVersion(house, row.number),
        clauses=(*load_policy(house).clauses, *own_clauses(row.clauses)),
        levels={rule_id: Level(level) for rule_id, level in row.levels.items()},
    )


def levels_of(*, repository: Repository, version: str) -> dict[str, Level]:
    """Return the levels that a repository gave to rules in a version; none in one that is not known."""
    parsed = PolicyVersion.parse(version)
    edition = edition_of(repository=repository, version=parsed) if parsed is not None else None
    return dict(edition.levels) if edition is not None else {}


def clauses_resting(clauses: Iterable[Clause], *, rule_id: str, form: str = "") -> tuple[Clause, ...]:
    """Return those of a repository's own clauses that a rule, or one of its forms, rests on."""
    return tuple(clause for clause in clauses if rule_id in clause.rules or (form and form in clause.forms))


def own_policy_said(*, repository_id: int) -> dict[str, Subquery]:
    """Return annotations that say a repository's own clauses in force, and the levels of all its versions."""
    versions = RepositoryPolicy.objects.filter(repository=repository_id).order_by("-number")
    levels = versions.values(said=JSONObject(number="number", levels="levels"))
    return {
        "own_policy_clauses": Subquery(versions.values("clauses")[:1]),
        "own_policy_levels": ArraySubquery(levels),
    }

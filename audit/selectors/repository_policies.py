"""The policy that a repository is held to, now and at any time before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Func, OuterRef, Subquery, TextField, Value
from django.db.models.functions import Cast, JSONObject

from audit.models import Repository, RepositoryPolicy
from audit.policy.clauses import CURRENT_VERSION, VERSIONS, Clause, load_policy, own_clauses
from audit.policy.editions import Edition, PolicyVersion, house_edition
from audit.scanner.report import Level


class OwnClauses(NamedTuple):
    """The clauses that rest on a rule in one version of a repository's own policy, and the level it gives.

    `version` is as it is written, `1+3`; `number` is 0 where the repository had no version of its own.
    """

    version: str
    number: int
    clauses: tuple[Clause, ...]
    level: str | None


@dataclass(frozen=True, slots=True)
class OwnPolicySaid:
    """What a repository's own policy said of a rule when a result was judged, and what it says now."""

    then: OwnClauses
    now: OwnClauses

    @property
    def has_other_clauses(self) -> bool:
        """Whether other clauses hold now, or the same ones in other words."""
        return self.then.clauses != self.now.clauses


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
    return _edition(version, row) if row is not None else None


def version_of_row(row: RepositoryPolicy | None, *, newest: RepositoryPolicy | None) -> PolicyVersion:
    """Return the version that a publication is: the one in force goes with the house's policy of today.

    One that is in force no more keeps the house's policy with which it was published.
    """
    if row is None:
        return PolicyVersion()
    return PolicyVersion(CURRENT_VERSION if row == newest else row.house_version, row.number)


def edition_of_row(row: RepositoryPolicy | None, *, newest: RepositoryPolicy | None) -> Edition:
    """Return the policy with what a publication of a repository adds to it; `newest` is the one in force."""
    return _edition(version_of_row(row, newest=newest), row)


def _edition(version: PolicyVersion, row: RepositoryPolicy | None) -> Edition:
    if row is None:
        return house_edition(version.house)
    return Edition(
        version=version,
        clauses=(*load_policy(version.house).clauses, *own_clauses(row.clauses)),
        levels={rule_id: Level(level) for rule_id, level in row.levels.items()},
        owner=str(row.repository_id),
    )


def levels_of(*, repository: Repository, version: str) -> dict[str, Level]:
    """Return the levels that a repository gave to rules in a version; none in one that is not known."""
    parsed = PolicyVersion.parse(version)
    edition = edition_of(repository=repository, version=parsed) if parsed is not None else None
    return dict(edition.levels) if edition is not None else {}


def own_clauses_by_rule(*, repository: Repository, version: str) -> dict[str, tuple[str, ...]]:
    """Return the ids of a repository's own clauses in a version, by the rules that rest on them."""
    return _ids_by(_own_clauses_of(repository, version), lambda clause: clause.rules)


def own_clauses_by_form(*, repository: Repository, version: str) -> dict[str, tuple[str, ...]]:
    """Return the ids of a repository's own clauses in a version, by the forms that rest on them."""
    return _ids_by(_own_clauses_of(repository, version), lambda clause: clause.forms)


def _own_clauses_of(repository: Repository, version: str) -> list[Clause]:
    parsed = PolicyVersion.parse(version)
    edition = edition_of(repository=repository, version=parsed) if parsed is not None else None
    return [clause for clause in edition.clauses if clause.is_own] if edition is not None else []


def _ids_by(
    clauses: Iterable[Clause], resting: Callable[[Clause], Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for clause in clauses:
        for key in resting(clause):
            found[key] = (*found.get(key, ()), clause.id)
    return found


def clauses_resting(clauses: Iterable[Clause], *, rule_id: str, form: str = "") -> tuple[Clause, ...]:
    """Return those of a repository's own clauses that a rule, or one of its forms, rests on."""
    return tuple(clause for clause in clauses if rule_id in clause.rules or (form and form in clause.forms))


def own_policy_said(*, repository_id: int) -> dict[str, Subquery]:
    """Return annotations of a state that say its repository's own policy: then, and as it is in force.

    `own_policy_then` is the version under which the state's result was judged, None where the house's alone
    held; `own_policy_now` is the version in force, None where there is none.
    """
    versions = RepositoryPolicy.objects.filter(repository=repository_id).order_by("-number")
    row = JSONObject(number="number", clauses="clauses", levels="levels")
    judged = SplitPart(OuterRef("result__scan_run__policy_version"), Value("+"), Value(2))
    return {
        "own_policy_then": Subquery(
            versions.alias(own=Cast("number", TextField())).filter(own=judged).values(said=row)[:1]
        ),
        "own_policy_now": Subquery(versions.values(said=row)[:1]),
    }


def own_policy_at(*, repository_id: int, number: int) -> Mapping[str, Any] | None:
    """Return what `own_policy_said` says of one version, by its number."""
    row = RepositoryPolicy.objects.filter(repository=repository_id, number=number)
    return row.values("number", "clauses", "levels").first()


def said_of_rule(
    then: Mapping[str, Any] | None,
    now: Mapping[str, Any] | None,
    *,
    judged_under: str,
    rule_id: str,
    form: str = "",
) -> OwnPolicySaid:
    """Return what two versions, as `own_policy_said` gives them, say of a rule and one of its forms."""
    in_force = str(PolicyVersion(own=now["number"])) if now is not None else CURRENT_VERSION
    return OwnPolicySaid(
        _said_by(then, judged_under, rule_id=rule_id, form=form),
        _said_by(now, in_force, rule_id=rule_id, form=form),
    )


def _said_by(row: Mapping[str, Any] | None, version: str, *, rule_id: str, form: str) -> OwnClauses:
    if row is None:
        return OwnClauses(version, 0, (), None)
    clauses = clauses_resting(own_clauses(row["clauses"]), rule_id=rule_id, form=form)
    return OwnClauses(version, row["number"], clauses, row["levels"].get(rule_id))


class SplitPart(Func):
    """The part of a text between two separators, by its number from 1; empty where there is none."""

    function = "split_part"
    output_field = TextField()

"""Following a precedent: what a ruling on one site does to the migration of another."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import FallbackSite, Precedent, PrecedentKind, Stance
from audit.selectors.repository_policies import edition_of_row, policy_newest
from audit.services.precedents import precedent_opinion_add, precedent_record, ruling_check_seen
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.services.site_migrations import site_migration_transition

_MOVES = {PrecedentKind.SUPPRESSED: Status.SUPPRESSED, PrecedentKind.ACCEPTED: Status.ACCEPTED}


def precedent_follow(
    *, precedent: Precedent, site: FallbackSite, actor: User, reason: str = "", seen: int | None = None
) -> None:
    """Rule on a site as a precedent ruled, and keep that it was followed: both or neither.

    `seen` is the newest ruling that the person saw in force on the site: a newer one is not replaced unseen.
    """
    if precedent.ended_at is not None:
        raise PlanError(f"Precedent {precedent.pk} is not in force any more: {precedent.ended_because}")
    said = f"As precedent {precedent.pk}: {reason.strip() or precedent.reason}"
    kind = PrecedentKind(precedent.kind)
    clause_id = _clause_here(precedent, site)
    with transaction.atomic():
        if seen is not None:
            ruling_check_seen(site=site, kind=kind, seen=seen)
        precedent_opinion_add(precedent=precedent, site=site, stance=Stance.AGREE, actor=actor, reason=reason)
        if kind in _MOVES:
            site_migration_transition(
                site=site, to=_MOVES[kind], actor=actor, reason=said, clause_id=clause_id
            )
        else:
            precedent_record(
                site=site,
                kind=kind,
                decision=precedent.decision,
                reason=said,
                clause_id=clause_id,
                actor=actor,
            )


def _clause_here(precedent: Precedent, site: FallbackSite) -> str:
    """Return the clause that the ruling rests on at the other site, if it has one there.

    Each repository's own clauses begin at the same number: one of another repository says something else, and
    one that was dropped since says nothing.
    """
    newest = policy_newest(repository=site.repository)
    there = {clause.id: clause for clause in edition_of_row(newest, newest=newest).clauses}
    clause = there.get(precedent.clause_id)
    if clause is None or (clause.is_own and precedent.repository_id != site.repository_id):
        return ""
    return clause.id

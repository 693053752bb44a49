"""Remembering rulings on sites, ending them, and keeping what people think of them at other sites."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from audit.errors import AuditError
from audit.knowledge.likeness import sketch
from audit.models import (
    FallbackSite,
    Precedent,
    PrecedentKind,
    PrecedentOpinion,
    ReferenceSource,
    Result,
    Stance,
)
from audit.selectors.repository_policies import edition_of_row, policy_newest
from audit.services.references import references_store

MAX_REASON = 10_000
DECISIONS = {
    PrecedentKind.CATEGORY: ("A", "B", "C"),
    PrecedentKind.SEVERITY: ("error", "warning", "note", "none"),
}
# A site is not accepted as one and at the same time left as it is, or none; nor is what is none mended.
_EXCLUSIVE = (PrecedentKind.SUPPRESSED, PrecedentKind.ACCEPTED, PrecedentKind.NOT_A_SITE)
_REPLACES = {
    PrecedentKind.SUPPRESSED: _EXCLUSIVE,
    PrecedentKind.ACCEPTED: _EXCLUSIVE,
    PrecedentKind.NOT_A_SITE: (*_EXCLUSIVE, PrecedentKind.CATEGORY),
    PrecedentKind.CATEGORY: (PrecedentKind.CATEGORY, PrecedentKind.NOT_A_SITE),
    PrecedentKind.SEVERITY: (PrecedentKind.SEVERITY,),
}
REPLACED = "A later ruling on the same site replaced it."


def precedent_record(
    *,
    site: FallbackSite,
    kind: PrecedentKind,
    reason: str,
    actor: User,
    decision: str = "",
    clause_id: str = "",
    seen: int | None = None,
) -> Precedent:
    """Keep a ruling on a site, with the code as the newest scan saw it; it replaces an earlier one.

    `seen` is the newest ruling that the person saw in force on the site, 0 for none: one that came since is
    not replaced unseen.
    """
    reason = _clean(reason)
    if not reason:
        raise AuditError("Say why: a ruling is kept with its reason.")
    if decision not in DECISIONS.get(kind, ("",)):
        raise AuditError(f"`{decision[:20]}` can't be ruled as {PrecedentKind(kind).label.lower()}.")
    own = policy_newest(repository=site.repository) if clause_id else None
    in_force = edition_of_row(own, newest=own)
    if clause_id and clause_id.upper() not in {clause.id for clause in in_force.clauses}:
        raise AuditError(f"The policy has no clause {clause_id[:20]}.")
    with transaction.atomic():
        site = FallbackSite.objects.select_for_update().get(pk=site.pk)
        if seen is not None:
            ruling_check_seen(site=site, kind=kind, seen=seen)
        precedents_end(site=site, kinds=_REPLACES[kind], because=REPLACED)
        result = Result.objects.filter(site=site).select_related("scan_run").order_by("-scan_run_id").first()
        if result is None:
            raise AuditError("No scan has a result of this site: there is no code to rule on.")
        precedent = Precedent.objects.create(
            repository_id=site.repository_id,
            site=site,
            kind=kind,
            decision=decision,
            rule_id=result.rule_id,
            form=result.form,
            symbol=result.symbol,
            path=result.path,
            line=result.start_line,
            commit_id=result.scan_run.commit_id,
            code=result.snippet,
            shingles=list(sketch(result.snippet)),
            reason=reason,
            clause_id=clause_id.upper(),
            policy_version=str(in_force.version) if clause_id else "",
            decided_by=actor,
        )
        references_store(
            repository=site.repository,
            text=reason,
            sites=[site.pk],
            source=ReferenceSource.REASON,
            source_path=precedent.get_absolute_url(),
        )
    return precedent


def ruling_check_seen(*, site: FallbackSite, kind: PrecedentKind, seen: int) -> None:
    """Raise where a ruling of a kind would replace one that is newer than the newest that was seen."""
    FallbackSite.objects.select_for_update().get(pk=site.pk)
    replaced = Precedent.objects.filter(site=site, kind__in=_REPLACES[kind], ended_at=None, pk__gt=seen)
    newer = replaced.select_related("decided_by").order_by("-pk").first()
    if newer is not None:
        raise AuditError(
            f"{newer.decided_by} ruled on this site meanwhile: {newer.ruling}. Look at it, then rule again "
            "if it is still to be replaced."
        )


def precedents_end(*, site: FallbackSite, kinds: Sequence[PrecedentKind], because: str) -> int:
    """End the rulings in force on a site; they are still shown. Return how many there were."""
    return Precedent.objects.filter(site=site, kind__in=kinds, ended_at=None).update(
        ended_at=Now(), ended_because=because
    )


def precedent_opinion_add(
    *, precedent: Precedent, site: FallbackSite, stance: Stance, actor: User, reason: str = ""
) -> PrecedentOpinion:
    """Keep that a person follows a precedent at another site, or differs and why."""
    reason = _clean(reason)
    if stance == Stance.DIFFER and not reason:
        raise AuditError("Say what is different here: the next person to see it will ask.")
    if site.pk == precedent.site_id:
        raise AuditError("The ruling is on this very site.")
    with transaction.atomic():
        Precedent.objects.select_for_update().get(pk=precedent.pk)
        last = PrecedentOpinion.objects.filter(precedent=precedent, site=site, actor=actor).first()
        if last is not None and (last.stance, last.reason) == (stance, reason):
            return last
        return PrecedentOpinion.objects.create(
            precedent=precedent, site=site, stance=stance, reason=reason, actor=actor
        )


def _clean(reason: str) -> str:
    return reason.replace("\0", "").strip()[:MAX_REASON]

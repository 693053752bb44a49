"""What is known of a site beside the four truths: rulings on it and the like, audits, entries, references."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.urls import reverse

from audit.knowledge.likeness import likeness, sketch
from audit.knowledge.references import ReferenceKind
from audit.models import Commit, FallbackSite, PrecedentKind, Result, Stance
from audit.models.precedent import clause_address
from audit.models.reference import REFERENCE_LABELS, ReferenceSource
from audit.selectors.precedents import ALIKE_FROM, PROBED

PRECEDENTS_SHOWN = 5
CANDIDATES = 200
# One statement: the page has twelve, and each of these is small.
_STATEMENT = """
SELECT 'precedent', to_jsonb(p) FROM (
    SELECT c.id, c.site_id, c.kind, c.decision, c.rule_id, c.form, c.symbol, c.reason, c.clause_id,
           c.policy_version, (SELECT slug FROM audit_repository WHERE id = c.repository_id) AS slug,
           c.shingles, c.created_at, u.username AS actor,
           (SELECT count(*) FROM audit_precedentopinion o JOIN audit_fallbacksite s ON s.id = o.site_id
             WHERE o.precedent_id = c.id AND o.stance = 'agree'
               AND (%(all)s OR s.repository_id = ANY(%(seen)s::bigint[]))) AS followed,
           (SELECT count(*) FROM audit_precedentopinion o JOIN audit_fallbacksite s ON s.id = o.site_id
             WHERE o.precedent_id = c.id AND o.stance = 'differ'
               AND (%(all)s OR s.repository_id = ANY(%(seen)s::bigint[]))) AS differed,
           (SELECT o.stance FROM audit_precedentopinion o
             WHERE o.precedent_id = c.id AND o.site_id = %(site)s ORDER BY o.id DESC LIMIT 1) AS stance
      FROM (
        (SELECT * FROM audit_precedent WHERE site_id = %(site)s AND ended_at IS NULL)
        UNION
        (SELECT * FROM audit_precedent WHERE ended_at IS NULL AND rule_id = %(rule)s AND form = %(form)s
            AND (%(all)s OR repository_id = ANY(%(seen)s::bigint[]))
          ORDER BY id DESC LIMIT %(most)s)
        UNION
        (SELECT * FROM audit_precedent WHERE ended_at IS NULL AND shingles && %(probes)s::int[]
            AND (%(all)s OR repository_id = ANY(%(seen)s::bigint[]))
          ORDER BY id DESC LIMIT %(most)s)
      ) c JOIN auth_user u ON u.id = c.decided_by_id
) p
UNION ALL
SELECT 'finding', to_jsonb(f) FROM (
    SELECT i.id, i.title, i.judgement, a.name AS audit, a.commit_object_id AS commit, l.placed_by
      FROM audit_findingsite l JOIN audit_importedfinding i ON i.id = l.finding_id
      JOIN audit_importedaudit a ON a.id = i.audit_id
     WHERE l.site_id = %(site)s ORDER BY i.id DESC LIMIT 10
) f
UNION ALL
SELECT 'reference', to_jsonb(r) FROM (
    SELECT kind, target, source, source_path FROM audit_textreference
     WHERE site_id = %(site)s ORDER BY id DESC LIMIT 20
) r
UNION ALL
SELECT 'entry', to_jsonb(e) FROM (
    SELECT DISTINCT k.id, k.title FROM audit_entrylink l JOIN audit_knowledgeentry k ON k.id = l.entry_id
     WHERE l.kind = 'site' AND l.target = %(site)s::text AND k.published_number > 0
       AND (%(all)s OR k.repository_id IS NULL OR k.repository_id = ANY(%(seen)s::bigint[]))
     ORDER BY k.id DESC LIMIT 10
) e
UNION ALL
SELECT 'seen', to_jsonb(s) FROM (
    SELECT l.scan_run_id, c.object_id, l.match_pass
      FROM audit_lineage l JOIN audit_commit c ON c.id = l.to_commit_id
     WHERE l.site_id = %(site)s ORDER BY l.id DESC LIMIT 20
) s
"""


@dataclass(frozen=True, slots=True)
class KnownPrecedent:
    """A ruling in force, as a site's page shows it. `stance` is what was said of it here, or empty."""

    id: int
    site_id: int
    kind: str
    decision: str
    symbol: str
    reason: str
    clause_id: str
    clause_address: str
    actor: str
    created: str
    followed: int
    differed: int
    stance: str
    is_same_form: bool
    alike: float

    @property
    def ruling(self) -> str:
        """What was ruled, in words."""
        label = str(PrecedentKind(self.kind).label)
        return f"{label}: {self.decision}" if self.decision else label

    @property
    def stance_label(self) -> str:
        """What was said of it at this site."""
        return str(Stance(self.stance).label) if self.stance else ""

    @property
    def percent(self) -> int:
        """How alike the code is."""
        return round(self.alike * 100)


@dataclass(frozen=True, slots=True)
class KnownReference:
    """A pull request, issue or commit that a text about the site names."""

    label: str
    address: str
    source: str
    source_path: str


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A scan that saw the site, and how it was recognised there."""

    scan_run_id: int
    commit: str
    match_pass: str


@dataclass(frozen=True, slots=True)
class SiteKnowledge:
    """What a site's page shows of what people know, and of the scans that saw it, newest first."""

    rulings: Sequence[KnownPrecedent]
    precedents: Sequence[KnownPrecedent]
    findings: Sequence[dict[str, Any]]
    references: Sequence[KnownReference]
    entries: Sequence[dict[str, Any]]
    seen_in: Sequence[KnownLink]

    @property
    def newest_ruling(self) -> int:
        """The newest ruling in force on the site; 0 for none."""
        return max((ruling.id for ruling in self.rulings), default=0)


def site_knowledge(
    *, site: FallbackSite, result: Result | None, seen: tuple[int, ...] | None
) -> SiteKnowledge:
    """Gather rulings on a site and on the like, the audits and entries that speak of it, and references.

    `seen` are the repositories that the reader sees, None for all: what others have is left out.
    """
    hashes = sketch(result.snippet) if result is not None else ()
    form = result.form if result is not None else ""
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT,
            {
                "site": site.pk,
                "rule": site.rule_id,
                "form": form,
                "probes": list(hashes[:PROBED]),
                "most": CANDIDATES,
                "all": seen is None,
                "seen": list(seen or ()),
            },
        )
        rows: dict[str, list[dict[str, Any]]] = {}
        for kind, data in cursor.fetchall():
            rows.setdefault(kind, []).append(data if isinstance(data, dict) else json.loads(data))
    known = [_known(row, site, form, hashes) for row in rows.get("precedent", ())]
    others = [
        one for one in known if one.site_id != site.pk and (one.is_same_form or one.alike >= ALIKE_FROM)
    ]
    others.sort(key=lambda one: (-one.is_same_form - one.alike, -one.id))
    return SiteKnowledge(
        rulings=[one for one in known if one.site_id == site.pk],
        precedents=others[:PRECEDENTS_SHOWN],
        findings=rows.get("finding", ()),
        references=[_reference(site, row) for row in rows.get("reference", ())],
        entries=rows.get("entry", ()),
        seen_in=[
            KnownLink(row["scan_run_id"], Commit(object_id=row["object_id"]).short_id, row["match_pass"])
            for row in rows.get("seen", ())
        ],
    )


def _known(row: dict[str, Any], site: FallbackSite, form: str, hashes: Sequence[int]) -> KnownPrecedent:
    return KnownPrecedent(
        id=row["id"],
        site_id=row["site_id"],
        kind=row["kind"],
        decision=row["decision"],
        symbol=row["symbol"],
        reason=row["reason"],
        clause_id=row["clause_id"],
        clause_address=clause_address(row["clause_id"], slug=row["slug"], version=row["policy_version"]),
        actor=row["actor"],
        created=row["created_at"][:10],
        followed=row["followed"],
        differed=row["differed"],
        stance=row["stance"] or "",
        is_same_form=(row["rule_id"], row["form"]) == (site.rule_id, form),
        alike=likeness(hashes, row["shingles"]),
    )


def _reference(site: FallbackSite, row: dict[str, Any]) -> KnownReference:
    kind = ReferenceKind(row["kind"])
    shown = row["target"][:9] if kind is ReferenceKind.COMMIT else f"#{row['target']}"
    return KnownReference(
        label=f"{REFERENCE_LABELS[kind]} {shown}",
        address=reverse("reference-detail", args=[site.repository.slug, row["kind"], row["target"]]),
        source=str(ReferenceSource(row["source"]).label),
        source_path=row["source_path"],
    )

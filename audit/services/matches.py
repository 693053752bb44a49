"""What operations are in PyTorch: matches as scans store them, and people's rulings about them."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from audit.errors import AuditError
from audit.models import MatchRuling, OperationMatch, Repository, ScanRun
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import is_known
from audit.parity.matching import Match, Ruling, Verdict

_FIELDS = (
    "verdict",
    "counterpart",
    "direction",
    "dtype",
    "crate",
    "path",
    "line",
    "signature",
    "rule",
    "confidence",
    "note",
    "is_seen",
)
RULED_VERDICTS = (Verdict.MATCHED, Verdict.NO_COUNTERPART, Verdict.INFRASTRUCTURE)


def matches_store(*, scan_run: ScanRun, matches: Sequence[Match]) -> None:
    """Bring a repository's operations up to what a scan of the default branch saw; write what changed."""
    known = {
        (row.kind, row.symbol): row
        for row in OperationMatch.objects.filter(repository_id=scan_run.repository_id)
    }
    fresh, changed = [], []
    for match in matches:
        row = _row(scan_run, match)
        old = known.pop((row.kind, row.symbol), None)
        if old is None:
            fresh.append(row)
        elif any(getattr(old, name) != getattr(row, name) for name in _FIELDS):
            row.pk = old.pk
            changed.append(row)
    for gone in known.values():
        if gone.is_seen:
            gone.is_seen, gone.changed_by_scan = False, scan_run
            changed.append(gone)
    OperationMatch.objects.bulk_create(fresh, batch_size=500)
    OperationMatch.objects.bulk_update(changed, [*_FIELDS, "changed_by_scan"], batch_size=200)


def rulings_in_force(*, repository: Repository) -> list[Ruling]:
    """List what people ruled about a repository's operations."""
    rows = MatchRuling.objects.filter(match__repository=repository, ended_at=None).select_related("match")
    return [
        Ruling(
            kind=row.match.kind,
            symbol=row.match.symbol,
            verdict=Verdict(row.verdict),
            counterpart=row.counterpart,
            direction=Direction(row.direction),
            dtype=row.dtype,
            reason=row.reason,
        )
        for row in rows
    ]


def match_ruling_set(
    *,
    match: OperationMatch,
    verdict: Verdict,
    counterpart: str,
    direction: Direction,
    dtype: str,
    reason: str,
    actor: User,
    seen: int | None = None,
) -> MatchRuling:
    """Rule what an operation is in PyTorch; an earlier ruling ends. The newest shipped dump must know it.

    `seen` is the ruling that the person saw in force, 0 for none: another one is not ended unseen.
    """
    counterpart, reason = counterpart.strip(), reason.replace("\0", "").strip()
    if verdict not in RULED_VERDICTS:
        raise AuditError("Choose what the operation is.")
    if not reason:
        raise AuditError("Say why: the ruling is kept with its reason.")
    if verdict is Verdict.MATCHED and not is_known(newest(), counterpart):
        raise AuditError(
            f"torch {newest().version} has no `{counterpart}`. Write `aten::NAME`, or a public name "
            "with its module: `torch.linalg.svd`."
        )
    try:
        with transaction.atomic():
            _check_seen(match, seen)
            _end(MatchRuling.objects.filter(match=match, ended_at=None), actor)
            return MatchRuling.objects.create(
                match=match,
                verdict=verdict.value,
                counterpart=counterpart if verdict is Verdict.MATCHED else "",
                direction=direction.value,
                dtype=dtype,
                reason=reason,
                decided_by=actor,
            )
    except IntegrityError as error:
        raise AuditError("Somebody ruled at the same time. This is the newest state: look again.") from error


def match_ruling_withdraw(*, match: OperationMatch, actor: User, seen: int | None = None) -> bool:
    """End the ruling in force, so that the machine's match counts again; False where there was none.

    `seen` is the ruling that the person saw in force: another one is not ended unseen.
    """
    with transaction.atomic():
        _check_seen(match, seen)
        return bool(_end(MatchRuling.objects.filter(match=match, ended_at=None), actor))


def _check_seen(match: OperationMatch, seen: int | None) -> None:
    OperationMatch.objects.select_for_update().get(pk=match.pk)
    newest = MatchRuling.objects.filter(match=match, ended_at=None).select_related("decided_by").first()
    if seen is not None and newest is not None and newest.pk != seen:
        raise AuditError(
            f"{newest.decided_by} ruled on this operation meanwhile. This is the newest state: look again."
        )


def _end(rulings: QuerySet[MatchRuling], actor: User) -> int:
    return rulings.update(ended_at=Now(), ended_by=actor)


def _row(scan_run: ScanRun, match: Match) -> OperationMatch:
    operation = match.operation
    return OperationMatch(
        repository_id=scan_run.repository_id,
        kind=operation.kind.value,
        symbol=operation.symbol,
        crate=operation.crate,
        path=operation.path,
        line=operation.line,
        signature=operation.signature,
        verdict=match.verdict.value,
        counterpart=match.counterpart,
        direction=match.direction.value,
        dtype=match.dtype,
        rule=match.rule,
        confidence=round(match.confidence * 100),
        note=match.note,
        is_seen=True,
        changed_by_scan=scan_run,
    )

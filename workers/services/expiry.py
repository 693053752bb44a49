"""Ending proof whose code is no longer the code that ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from audit.models import ScanRun
from audit.scanner.judge import Judgement
from audit.scanner.proof.reaching import Proofs
from audit.services.scanning import commit_observe
from workers.models import VerifiedFunction

CHANGED = "The function, or something that it calls, changed."
GONE = "The function is gone."


def has_proof_to_check(*, scan_run: ScanRun) -> bool:
    """Whether anything was proved about another commit of the scan's repository."""
    return _standing(scan_run).exists()


def verifications_expire(*, scan_run: ScanRun, after: Callable[[ScanRun], None]) -> int:
    """End the proof about functions whose code is another at the scan's commit; return how much ended.

    Run twice, or for two scans in any order, it ends the same: what ended does not come back. `after` runs
    in the transaction that ends it.
    """
    standing = list(_standing(scan_run).values_list("pk", "symbol", "digest"))
    reasons = _reasons(scan_run, standing) if standing else {}
    with transaction.atomic():
        for reason, pks in reasons.items():
            VerifiedFunction.objects.filter(pk__in=pks, expired_at=None).update(
                expired_at=Now(), expired_by=scan_run, expired_because=reason
            )
        after(scan_run)
    return sum(map(len, reasons.values()))


def _reasons(scan_run: ScanRun, standing: Sequence[tuple[int, str, str]]) -> dict[str, list[int]]:
    """Say of which rows the proof ends, by the reason."""
    wanted = {symbol for _, symbol, _ in standing}
    digests: dict[str, set[str]] = defaultdict(set)

    def observe(judgement: Judgement) -> None:
        proofs = Proofs(judgement)
        for function in judgement.workspace.functions:
            if function.has_body and function.symbol in wanted:
                digests[function.symbol].add(proofs.digest(function))

    commit_observe(repository=scan_run.repository, commit=scan_run.commit, observe=observe)
    gone = [pk for pk, symbol, _ in standing if symbol not in digests]
    changed = [pk for pk, symbol, digest in standing if symbol in digests and digest not in digests[symbol]]
    return {GONE: gone, CHANGED: changed}


def _standing(scan_run: ScanRun) -> QuerySet[VerifiedFunction]:
    return VerifiedFunction.objects.filter(
        verification__repository=scan_run.repository_id, expired_at=None
    ).exclude(verification__commit=scan_run.commit_id)

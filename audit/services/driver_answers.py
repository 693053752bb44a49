"""Keeping what drivers answered to PTX texts, and giving a scan what it may hear of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from audit.models import DriverAnswer, Repository
from audit.scanner.ptx import driver
from audit.services.repository_lock import repository_lock


def driver_answers_keep(*, repository: Repository, answers: Sequence[driver.DriverAnswer]) -> int:
    """Keep the answers that differ from what is known, and return how many did."""
    with transaction.atomic():
        repository_lock(repository_id=repository.pk)
        known = _newest(repository, [answer.sha256 for answer in answers])
        new: dict[tuple[str, str], driver.DriverAnswer] = {}
        for answer in answers:
            before = known.get((answer.sha256, answer.device))
            if before is None or _word(before) != _word(answer):
                new[answer.sha256, answer.device] = answer
        DriverAnswer.objects.bulk_create(
            DriverAnswer(
                repository=repository,
                sha256=answer.sha256,
                is_loaded=answer.is_loaded,
                device=answer.device,
                driver=answer.driver,
                error=answer.error[:100],
                said=answer.said,
            )
            for answer in new.values()
        )
    return len(new)


def driver_label(*, repository: Repository) -> str:
    """Name the newest answer: who judges a commit now has heard all up to it."""
    newest = DriverAnswer.objects.filter(repository=repository).order_by("-id").values_list("pk", flat=True)
    return str(newest.first() or "")


def driver_answers_until(*, repository: Repository, label: str) -> driver.DriverAnswers:
    """Give the answers up to the one that the label names; none where it names none."""
    if not label.isdecimal():
        return driver.DriverAnswers()
    rows = DriverAnswer.objects.filter(repository=repository, pk__lte=int(label)).order_by("pk")
    return driver.DriverAnswers([_told(row) for row in rows], label=label)


def _newest(repository: Repository, digests: Sequence[str]) -> dict[tuple[str, str], driver.DriverAnswer]:
    rows = DriverAnswer.objects.filter(repository=repository, sha256__in=set(digests)).order_by("pk")
    return {(row.sha256, row.device): _told(row) for row in rows}


def _told(row: DriverAnswer) -> driver.DriverAnswer:
    return driver.DriverAnswer(row.sha256, row.is_loaded, row.device, row.driver, row.error, row.said)


def _word(answer: driver.DriverAnswer) -> tuple[bool, str, str, str]:
    return answer.is_loaded, answer.driver, answer.error[:100], answer.said

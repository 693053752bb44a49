"""Reading what the commits that were scanned say was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef

from audit.claims import finding
from audit.claims.kinds import WORDS_VERSION
from audit.models import Claim, ClaimSource, Commit, CommitReading, Repository, RowState, ScanRun
from audit.services.git_repository import commit_texts, git_dir_of
from audit.services.references import message_references_store

READ_AT_MOST = 200


def claims_read(*, limit: int = READ_AT_MOST) -> int:
    """Read commits that were scanned and not read with today's words; return how many were."""
    scanned = ScanRun.objects.filter(commit=OuterRef("pk"), state=RowState.SUCCEEDED)
    unread = (
        Commit.objects.filter(Exists(scanned))
        .exclude(reading__words_version=WORDS_VERSION)
        .exclude(object_id__startswith="snapshot:")
        .select_related("repository")
        .order_by("-pk")[:limit]
    )
    of_repository: dict[Repository, list[Commit]] = {}
    for commit in unread:
        of_repository.setdefault(commit.repository, []).append(commit)
    for repository, commits in of_repository.items():
        texts = commit_texts(
            git_dir=git_dir_of(repository), object_ids=[commit.object_id for commit in commits]
        )
        claims_store(commits=commits, texts=texts)
        messages = {object_id: message for object_id, (message, _) in texts.items()}
        message_references_store(repository=repository, messages=messages)
    return sum(map(len, of_repository.values()))


def claims_store(*, commits: Sequence[Commit], texts: Mapping[str, tuple[str, str]]) -> None:
    """Keep what the texts of commits claim, in place of what was read before.

    A text is a message and what was added to changelogs. Of a commit without one, git knows nothing now; it
    counts as read.
    """
    with transaction.atomic():
        Claim.objects.filter(commit__in=commits).delete()
        Claim.objects.bulk_create(
            claim for commit in commits for claim in _claims(commit, *texts.get(commit.object_id, ("", "")))
        )
        CommitReading.objects.bulk_create(
            [CommitReading(commit=commit, words_version=WORDS_VERSION) for commit in commits],
            update_conflicts=True,
            unique_fields=["commit"],
            update_fields=["words_version", "read_at"],
        )


def _claims(commit: Commit, message: str, changelog: str) -> Iterator[Claim]:
    for source, text in ((ClaimSource.MESSAGE, message), (ClaimSource.CHANGELOG, changelog)):
        for claim in finding.find_claims(text):
            yield Claim(
                commit=commit,
                source=source,
                kind=claim.kind.value,
                text=claim.text,
                line=claim.line,
                count=claim.count,
                names=list(claim.names),
            )

"""Importing the audits a project has, and what people say of their findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit.errors import AuditError
from audit.imports.formats import Format, read_document
from audit.imports.placing import PlacedBy
from audit.imports.rows import MAX_REFUSED, MAX_TEXT, ImportFormatError, Refusal, Row, clipped
from audit.imports.sarif_checks import is_same_repository, sarif_check, tool_of
from audit.models import (
    AuditUpload,
    Commit,
    FallbackSite,
    FindingSite,
    ImportedAudit,
    ImportedFinding,
    Judgement,
    Repository,
    RepositoryKind,
    ScanRun,
    Standing,
)
from audit.models.lease import RowState
from audit.services.finding_places import findings_place
from audit.services.git_repository import commit_resolve, git_dir_of
from audit.services.repository_lock import repository_lock

MAX_REASON = 10_000


@dataclass(frozen=True, slots=True)
class Imported:
    """What one reading of a document brought, by commit."""

    audits: tuple[ImportedAudit, ...]
    uploads: tuple[AuditUpload, ...]
    refused: tuple[Refusal, ...]


def audit_import(
    *,
    repository: Repository,
    data: bytes,
    file_name: str,
    actor: User | None,
    format_name: str = "",
    name: str = "",
    commit: str = "",
) -> Imported:
    """Import a document: its findings are kept once, however often it is read, and held against the code.

    `commit` is the commit it speaks of, where it does not say so itself; rows that name another one become an
    audit of that commit.
    """
    try:
        chosen, reading = read_document(data, file_name=file_name, format_name=format_name)
    except ImportFormatError as error:
        raise AuditError(str(error)) from error
    _check_repository(repository, reading.repositories)
    whole = _commit_id(repository, commit or reading.commit)
    groups: dict[str, list[Row]] = {}
    refused = list(reading.refused)
    for row in reading.rows:
        try:
            groups.setdefault(_commit_id(repository, row.commit) if row.commit else whole, []).append(row)
        except AuditError as error:
            refused.append(Refusal(row.line, str(error)))
    if not groups:
        raise AuditError(f"No finding can be kept. Line {refused[0].line}: {refused[0].reason}")
    uploads = []
    with transaction.atomic():
        repository_lock(repository_id=repository.pk)
        for object_id, rows in groups.items():
            audit, _ = ImportedAudit.objects.get_or_create(
                repository=repository,
                name=clipped(name.strip() or file_name, 200),
                commit_object_id=object_id,
                defaults={"format": chosen.value, "added_by": actor},
            )
            upload = _store(audit, chosen, rows, refused, data, file_name, actor)
            imported_audit_match(audit=audit)
            uploads.append(upload)
    return Imported(tuple(upload.audit for upload in uploads), tuple(uploads), tuple(refused))


def sarif_import(
    *, repository: Repository, data: bytes, actor: User, name: str = "", commit: str = ""
) -> tuple[AuditUpload, bool]:
    """Import a SARIF log of another tool; the same log again is the same reading, and False says so.

    A log that is said to be of another commit than before is another reading.
    """
    try:
        log = json.loads(data)
        sarif_check(log)
        tool = tool_of(log)
    except ImportFormatError as error:
        raise AuditError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise AuditError("The log is no JSON.") from error
    name = clipped(name.strip() or tool, 200)
    with transaction.atomic():
        repository_lock(repository_id=repository.pk)
        known = AuditUpload.objects.filter(audit__repository=repository, audit__name=name)
        if commit.strip():
            known = known.filter(audit__commit_object_id=_commit_id(repository, commit))
        newest = known.first()
        if newest is not None and newest.digest == hashlib.sha256(data).hexdigest():
            return newest, False
        imported = audit_import(
            repository=repository,
            data=data,
            file_name=f"{tool[:240]}.sarif",
            actor=actor,
            format_name=Format.SARIF.value,
            name=name,
            commit=commit,
        )
    return imported.uploads[0], True


def _check_repository(repository: Repository, addresses: Iterable[str]) -> None:
    """Raise where a document says that it read another repository; of a local folder it can't be told."""
    if repository.kind != RepositoryKind.GIT_URL:
        return
    for address in addresses:
        if not is_same_repository(address, repository.location):
            raise AuditError(f"The document speaks of the repository {address[:200]}, and not of this one.")


def imported_audit_match(*, audit: ImportedAudit) -> bool:
    """Hold an audit's findings against the newest scan of its commit; return whether there is one."""
    scan_run = (
        ScanRun.objects.filter(
            repository=audit.repository_id,
            commit__object_id=audit.commit_object_id,
            state=RowState.SUCCEEDED,
        )
        .select_related("repository", "commit")
        .order_by("-pk")
        .first()
    )
    if scan_run is None:
        return False
    with transaction.atomic():
        findings_place(audit=audit, scan_run=scan_run)
        ImportedAudit.objects.filter(pk=audit.pk).update(matched_scan=scan_run)
    return True


def imported_audits_match_scan(*, scan_run: ScanRun) -> int:
    """Hold the audits that wait for the scan of a commit against it; return how many there were."""
    waiting = ImportedAudit.objects.filter(
        repository=scan_run.repository_id,
        commit_object_id=scan_run.commit.object_id,
        matched_scan=None,
    ).select_related("repository")
    return sum(imported_audit_match(audit=audit) for audit in waiting)


def finding_judge(
    *, finding: ImportedFinding, judgement: Judgement, reason: str, actor: User
) -> ImportedFinding:
    """Keep what a person says of a finding after reading the code; its history keeps what was said before."""
    reason = _clean(reason)
    if not reason:
        raise AuditError("Say what the code shows: a judgement is kept with its reason.")
    with transaction.atomic():
        finding = ImportedFinding.objects.select_for_update().get(pk=finding.pk)
        finding.judgement = judgement
        finding.judgement_reason = reason
        finding.judged_by = actor
        finding.judged_at = timezone.now()
        finding.save(update_fields=["judgement", "judgement_reason", "judged_by", "judged_at"])
    return finding


def finding_site_add(*, finding: ImportedFinding, site: FallbackSite, actor: User) -> FindingSite:
    """Link a finding to a site by a person's hand; matching it again leaves the link alone."""
    if site.repository_id != finding.audit.repository_id:
        raise AuditError(f"Site {site.pk} is of another repository.")
    link, is_new = FindingSite.objects.get_or_create(
        finding=finding, site=site, defaults={"placed_by": PlacedBy.PERSON.value, "linked_by": actor}
    )
    if not is_new:
        raise AuditError(f"Site {site.pk} is linked already.")
    return link


def _store(
    audit: ImportedAudit,
    chosen: Format,
    rows: Sequence[Row],
    refused: Iterable[Refusal],
    data: bytes,
    file_name: str,
    actor: User | None,
) -> AuditUpload:
    known = {finding.key: finding for finding in audit.findings.all()}
    fresh = [_finding(audit, position, row) for position, row in enumerate(rows, 1) if row.key not in known]
    kept = []
    for position, row in enumerate(rows, 1):
        finding = known.pop(row.key, None)
        if finding is not None:
            read = _finding(audit, position, row)
            for column in _READ_ANEW:
                setattr(finding, column, getattr(read, column))
            finding.is_withdrawn = False
            kept.append(finding)
    withdrawn = [finding for finding in known.values() if not finding.is_withdrawn]
    for finding in withdrawn:
        finding.is_withdrawn = True
    ImportedFinding.objects.bulk_create(fresh, batch_size=500)
    ImportedFinding.objects.bulk_update([*kept, *withdrawn], [*_READ_ANEW, "is_withdrawn"], batch_size=500)
    return AuditUpload.objects.create(
        audit=audit,
        file_name=clipped(file_name, 255),
        digest=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        actor=actor,
        added_count=len(fresh),
        kept_count=len(kept),
        withdrawn_count=len(withdrawn),
        refused=[{"line": one.line, "reason": clipped(one.reason, 500)} for one in refused][:MAX_REFUSED],
    )


_READ_ANEW = (
    "position",
    "source_line",
    "section",
    "title",
    "text",
    "severity",
    "crate",
    "reference",
    "names",
    "rule_ids",
    "is_about_device",
    "places",
)


def _finding(audit: ImportedAudit, position: int, row: Row) -> ImportedFinding:
    return ImportedFinding(
        audit=audit,
        key=row.key,
        position=position,
        source_line=row.line,
        section=clipped(row.section, 300),
        title=row.title,
        text=clipped(row.text, MAX_TEXT),
        severity=clipped(row.severity, 20),
        crate=clipped(row.crate, 200),
        reference=clipped(row.reference, 300),
        names=[clipped(name, 200) for name in row.names],
        rule_ids=list(row.rule_ids),
        is_about_device=bool(row.rule_ids),
        places=[
            {"path": clipped(place.path, 500), "start": place.start, "end": place.end} for place in row.places
        ],
        standing=Standing.PENDING,
    )


def _commit_id(repository: Repository, revision: str) -> str:
    """Return the whole id of the commit that a document speaks of."""
    revision = revision.strip()
    if not revision:
        raise AuditError("Say which commit the audit speaks of: the document does not name one.")
    known = Commit.objects.filter(repository=repository, object_id__startswith=revision.lower())
    found = list(known.values_list("object_id", flat=True)[:2])
    if len(found) == 1:
        return found[0]
    if not repository.has_revisions:
        raise AuditError(f"`{revision[:80]}` is no state of this folder that was scanned.")
    return commit_resolve(git_dir=git_dir_of(repository), revision=revision[:200]).object_id


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:MAX_REASON]

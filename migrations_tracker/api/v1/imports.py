"""Results of other tools, as SARIF."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from ninja import Router, Schema, Status
from pydantic import ConfigDict

from audit.imports.rows import MAX_BYTES
from audit.models import AuditUpload
from audit.services.imported_audits import sarif_import
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.parameters import Word
from migrations_tracker.api.v1.problems import RefusedError
from migrations_tracker.api.v1.security import ProgramRequest

router = Router(tags=["imports"])


class SarifIn(Schema):
    """A SARIF log, whole: what is not named here is read too."""

    model_config = ConfigDict(extra="allow")

    version: Literal["2.1.0"]
    runs: list[dict[str, Any]]


class RefusalOut(Schema):
    """A result that was not kept, by its number in the log, and why."""

    number: int
    reason: str


class ImportOut(Schema):
    """What a reading of a log brought: findings of an audit of the commit."""

    audit: int
    name: str
    commit: str
    digest: str
    added: int
    kept: int
    withdrawn: int
    refused: list[RefusalOut]
    url: str

    @classmethod
    def of(cls, row: AuditUpload) -> ImportOut:
        """Tell a reading that was stored."""
        return cls(
            audit=row.audit_id,
            name=row.audit.name,
            commit=row.audit.commit_object_id,
            digest=row.digest,
            added=row.added_count,
            kept=row.kept_count,
            withdrawn=row.withdrawn_count,
            refused=[RefusalOut(number=one["line"], reason=one["reason"]) for one in row.refused],
            url=row.audit.get_absolute_url(),
        )


@router.post("/repositories/{slug}/sarif", response={HTTPStatus.CREATED: ImportOut, HTTPStatus.OK: ImportOut})
def sarif_create(
    request: ProgramRequest, slug: str, body: SarifIn, name: Word = "", commit: Word = ""
) -> Status[ImportOut]:
    """Import the results of another tool.

    They become findings of an audit that is named after the tool, and are held against the sites of `commit`,
    or the one that the log names. The same log again is answered 200 and changes nothing. Refused are logs
    with absolute paths, with a root that is no repository's, of another repository, and with fingerprints
    that are all the same.
    """
    data = request.body
    if len(data) > MAX_BYTES:
        raise RefusedError(
            f"The log has {len(data):,} bytes; {MAX_BYTES:,} are the most.",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        )
    row, is_new = sarif_import(
        repository=repository_named(slug), data=data, actor=request.user, name=name, commit=commit
    )
    return Status(HTTPStatus.CREATED if is_new else HTTPStatus.OK, ImportOut.of(row))

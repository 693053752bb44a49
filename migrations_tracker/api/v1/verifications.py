"""Asking for proof on a GPU, and reading it."""

from __future__ import annotations

from http import HTTPStatus

from ninja import Router, Schema, Status

from migrations_tracker.api.v1.choosing import repository_named, site_numbered
from migrations_tracker.api.v1.parameters import Key, Word
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.selectors.site_detail import proofs_of_site
from migrations_tracker.services.verifications import verification_ask
from workers.models import RequestTarget, VerificationRequest

router = Router(tags=["verifications"])


class VerificationIn(Schema):
    """What to verify: a site by its number, or by `text` an operation, a function or a crate."""

    target: RequestTarget
    text: Word = ""
    site: Key | None = None
    revision: Word = ""


class VerificationRequestOut(Schema):
    """A wish for proof, how far it is, and the tests that were found for it."""

    id: int
    state: str
    failure: str
    note: str
    tests: int
    url: str

    @classmethod
    def of(cls, row: VerificationRequest) -> VerificationRequestOut:
        """Tell a wish."""
        return cls(
            id=row.pk,
            state=row.state,
            failure=row.failure_reason,
            note=row.note,
            tests=len(row.tests),
            url=row.get_absolute_url(),
        )


class ProofOut(Schema):
    """The last word of a test that reaches a site's function."""

    crate: str
    test: str
    verdict: str
    reason: str
    is_proof: bool
    expired: bool
    url: str


@router.post("/repositories/{slug}/verifications", response={HTTPStatus.ACCEPTED: VerificationRequestOut})
def verification_create(
    request: ProgramRequest, slug: str, body: VerificationIn
) -> Status[VerificationRequestOut]:
    """Ask for a verification; a runner takes it."""
    repository = repository_named(slug)
    site = site_numbered(body.site) if body.site is not None else None
    if site is not None and site.repository_id != repository.pk:
        raise not_found("site in this repository")
    row = verification_ask(
        repository=repository,
        target=body.target,
        text=body.text or (site.symbol if site is not None else ""),
        revision=body.revision,
        site=site,
        actor=request.user,
    )
    return Status(HTTPStatus.ACCEPTED, VerificationRequestOut.of(row))


@router.get("/verification-requests/{pk}", response=VerificationRequestOut)
def verification_request_get(request: ProgramRequest, pk: Key) -> VerificationRequestOut:
    """Tell how far a wish is."""
    found = VerificationRequest.objects.filter(pk=pk).first()
    if found is None:
        raise not_found("verification request")
    return VerificationRequestOut.of(found)


@router.get("/sites/{pk}/proofs", response=list[ProofOut])
def site_proofs(request: ProgramRequest, pk: Key) -> list[ProofOut]:
    """List what GPU runs said of a site's function, with what still holds."""
    return [
        ProofOut(
            crate=proof.verification.crate,
            test=proof.verification.test,
            verdict=proof.verification.verdict,
            reason=proof.verification.reason,
            is_proof=proof.is_proof,
            expired=proof.function.expired_at is not None,
            url=proof.verification.get_absolute_url(),
        )
        for proof in proofs_of_site(site=site_numbered(pk))
    ]

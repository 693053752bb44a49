"""Signs outcomes with the runner's key, bound to the job and the lease they answer."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from workers.protocol.codec import MalformedError, canonical_bytes, from_bytes, to_json
from workers.protocol.outcome import Outcome

#: What the signature is for: a signature under the same key for anything else never fits an outcome.
_PURPOSE = b"ferroaudit outcome 1"

MIN_KEY_BYTES = 32


class SignatureError(ValueError):
    """An outcome whose signature does not hold, or that answers another job or lease."""


@dataclass(frozen=True, slots=True)
class SignedOutcome:
    """An outcome with the name of the key and the signature over its canonical form."""

    key_id: str
    signature: str
    outcome: Outcome
    algorithm: str = "hmac-sha256"


def sign(outcome: Outcome, *, key: bytes, key_id: str) -> SignedOutcome:
    """Sign an outcome as its reader will see it: a whole number in a float's place reads as a float."""
    outcome = from_bytes(Outcome, canonical_bytes(outcome))
    return SignedOutcome(key_id=key_id, signature=_signature(outcome, key, key_id), outcome=outcome)


def to_bytes(signed: SignedOutcome) -> bytes:
    """Give the document as it is sent."""
    return canonical_bytes(signed)


def read_signed(raw: bytes, *, key: bytes, job_id: str, lease_id: str) -> Outcome:
    """Read an outcome that answers this job under this lease, or say why it does not."""
    try:
        signed = from_bytes(SignedOutcome, raw)
    except MalformedError as error:
        raise SignatureError(f"not a signed outcome: {error}") from error
    if signed.algorithm != "hmac-sha256":
        raise SignatureError(f"algorithm `{signed.algorithm}`: only `hmac-sha256` is taken")
    if not hmac.compare_digest(
        _signature(signed.outcome, key, signed.key_id).encode(), signed.signature.encode()
    ):
        raise SignatureError("the signature does not fit the outcome")
    if signed.outcome.job_id != job_id:
        raise SignatureError(f"the outcome answers job `{signed.outcome.job_id}`, not `{job_id}`")
    if signed.outcome.lease_id != lease_id:
        raise SignatureError(f"the outcome answers lease `{signed.outcome.lease_id}`, not `{lease_id}`")
    return signed.outcome


def _signature(outcome: Outcome, key: bytes, key_id: str) -> str:
    if len(key) < MIN_KEY_BYTES:
        raise SignatureError(f"the key has {len(key)} bytes: at least {MIN_KEY_BYTES} are needed")
    parts = (
        _PURPOSE,
        key_id.encode(),
        outcome.job_id.encode(),
        outcome.lease_id.encode(),
        canonical_bytes(to_json(outcome)),
    )
    # Each part carries its length: no two sets of parts have the same bytes.
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key, message, hashlib.sha256).hexdigest()

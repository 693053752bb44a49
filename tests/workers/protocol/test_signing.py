"""An outcome counts only from its runner, for its job, under its lease, as it was signed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workers.protocol.outcome import JobState, Outcome
from workers.protocol.readings import Probe, ProbeReading
from workers.protocol.signing import SignatureError, read_signed, sign, to_bytes

KEY = b"k" * 32
OUTCOME = Outcome(
    job_id="job-1",
    lease_id="lease-1",
    state=JobState.FINISHED,
    reason="",
    started_at="2026-01-01T00:00:00+00:00",
    ended_at="2026-01-01T00:01:00+00:00",
    runner_version="1",
    probe=Probe((ProbeReading("nvml", "nvml", "", 0, "2026-01-01T00:00:00+00:00", 1),)),
)


def sent(outcome: Outcome = OUTCOME, key: bytes = KEY) -> bytes:
    return to_bytes(sign(outcome, key=key, key_id="runner-1"))


def test_a_signed_outcome_is_read_back() -> None:
    assert read_signed(sent(), key=KEY, job_id="job-1", lease_id="lease-1") == OUTCOME


@pytest.mark.parametrize(
    ("raw", "job_id", "lease_id", "words"),
    [
        (sent(key=b"x" * 32), "job-1", "lease-1", "does not fit"),
        (sent().replace(b'"finished"', b'"refused"'), "job-1", "lease-1", "does not fit"),
        (sent().replace(b"runner-1", b"runner-2"), "job-1", "lease-1", "does not fit"),
        (sent(), "job-2", "lease-1", "answers job `job-1`"),
        (sent(), "job-1", "lease-2", "answers lease `lease-1`"),
        (sent().replace(b"hmac-sha256", b"none"), "job-1", "lease-1", "only `hmac-sha256`"),
        (b"{}", "job-1", "lease-1", "not a signed outcome"),
        (b"nonsense", "job-1", "lease-1", "not a signed outcome"),
    ],
)
def test_a_forged_outcome_is_refused(raw: bytes, job_id: str, lease_id: str, words: str) -> None:
    with pytest.raises(SignatureError) as refusal:
        read_signed(raw, key=KEY, job_id=job_id, lease_id=lease_id)
    assert words in str(refusal.value)


def test_an_outcome_rebound_to_another_lease_does_not_verify() -> None:
    document = json.loads(sent())
    document["outcome"]["lease_id"] = "lease-2"
    with pytest.raises(SignatureError, match="does not fit"):
        read_signed(json.dumps(document).encode(), key=KEY, job_id="job-1", lease_id="lease-2")


def test_a_short_key_signs_nothing() -> None:
    with pytest.raises(SignatureError, match="at least 32"):
        sign(OUTCOME, key=b"short", key_id="runner-1")


def test_every_change_changes_the_signature() -> None:
    other = replace(OUTCOME, ended_at="2026-01-01T00:01:01+00:00")
    assert sign(OUTCOME, key=KEY, key_id="a").signature != sign(other, key=KEY, key_id="a").signature

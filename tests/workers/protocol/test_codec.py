"""Documents from outside are read strictly or refused with the place of the fault."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workers.protocol.codec import MalformedError, canonical_bytes, from_bytes, to_json
from workers.protocol.job import (
    BundleRef,
    Expect,
    Expectation,
    JobKind,
    JobSpec,
    PtxText,
    TestSpec,
    read_job,
)
from workers.protocol.readings import Inability, Probe, ProbeReading

JOB = JobSpec(
    job_id="job-1",
    lease_id="lease-1",
    kind=JobKind.VERIFY,
    commit="a" * 40,
    crate="ferrotorch-gpu",
    features=("cuda",),
    bundle=BundleRef(sha256="b" * 64),
    tests=(TestSpec("unit", "ops::adds", Expectation(Expect.ON_DEVICE, kernels=("add",))),),
    environment={"RUST_LOG": "warn"},
)


def document(**changes: Any) -> bytes:
    value = to_json(JOB) | changes
    return json.dumps({key: item for key, item in value.items() if item is not ...}).encode()


def test_a_job_survives_its_own_json() -> None:
    assert read_job(canonical_bytes(JOB)) == JOB


def test_what_has_a_default_may_be_left_out() -> None:
    assert read_job(document(ptx=..., limits=..., families=..., checkout=...)) == JOB


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "version 2: this runner speaks 1"),
        ({"surprise": 1}, "job: unknown key `surprise`"),
        ({"job_id": ...}, "job: key `job_id` is missing"),
        ({"job_id": 7}, "job.job_id: expected a string, got `7`"),
        ({"job_id": "../../etc"}, "job_id `../../etc` does not match"),
        ({"kind": "paint"}, "job.kind: expected one of verify, ptx, probe"),
        ({"commit": "main"}, "commit `main` does not match"),
        ({"crate": "--config=x"}, "crate `--config=x` does not match"),
        ({"features": ["cuda", "--all"]}, "features `--all` does not match"),
        ({"features": "cuda"}, "job.features: expected a list"),
        ({"bundle": None}, "has one of a bundle, a checkout and a source archive"),
        ({"bundle": {"sha256": "xyz"}}, "sha256 `xyz` does not match"),
        ({"tests": []}, "names no test"),
        ({"environment": {"LD_PRELOAD": "x"}}, "`LD_PRELOAD` is the runner's own"),
        ({"environment": {"CUDA_INJECTION64_PATH": "x"}}, "is the runner's own"),
        ({"environment": {"lower": "x"}}, "environment variable `lower` does not match"),
        ({"limits": {"wall_s": 0}}, "limit `wall_s` is not above 0"),
        ({"limits": {"wall_s": True}}, "job.limits.wall_s: expected a number, got `true`"),
        ({"job_id": "\ud800"}, "job.job_id: half a surrogate pair"),
        ({"kind": "ptx"}, "a `ptx` job holds no PTX"),
    ],
)
def test_what_is_not_a_job_is_refused_with_its_place(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(MalformedError) as refusal:
        read_job(document(**changes))
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"binary": "../sh"}, "binary `../sh`"),
        ({"name": "--ignored"}, "name `--ignored`"),
        ({"expectation": {"kind": "on-device"}}, "names no kernel and no family"),
        ({"expectation": {"kind": "opt-in"}}, "needs opt_in_variable"),
        (
            {"expectation": {"kind": "on-device", "families": ["cublas"]}},
            "family `cublas`, which is not given",
        ),
    ],
)
def test_a_test_that_cannot_be_meant_is_refused(test: dict[str, Any], words: str) -> None:
    whole = to_json(JOB.tests[0]) | test
    with pytest.raises(MalformedError) as refusal:
        read_job(document(tests=[whole]))
    assert words in str(refusal.value)


class Span(NamedTuple):
    start: int
    end: int = 0


@dataclass(frozen=True)
class Marked:
    spans: tuple[Span, ...]


def test_a_named_tuple_is_written_by_the_names_of_its_fields_and_read_back() -> None:
    marked = Marked((Span(1, 2),))
    assert to_json(marked) == {"spans": [{"start": 1, "end": 2}]}
    assert from_bytes(Marked, canonical_bytes(marked)) == marked
    assert from_bytes(Marked, b'{"spans": [{"start": 3}]}') == Marked((Span(3),))


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ([1, 2], "document.spans[0]: expected an object"),
        ({"end": 2}, "document.spans[0]: key `start` is missing"),
        ({"start": "1"}, "document.spans[0].start: expected a whole number"),
        ({"start": 1, "count": 2}, "document.spans[0]: unknown key `count`"),
    ],
)
def test_what_is_no_such_named_tuple_is_refused_with_its_place(span: Any, words: str) -> None:
    with pytest.raises(MalformedError, match=re.escape(words)):
        from_bytes(Marked, json.dumps({"spans": [span]}).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1, NaN]", b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}', b"null", b"[]"]
)
def test_what_is_not_json_or_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        read_job(raw)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.sampled_from(sorted(to_json(JOB))), c),
    )
)
def test_no_json_value_makes_the_reader_raise_anything_else(value: Any) -> None:
    with contextlib.suppress(MalformedError):
        read_job(json.dumps(value).encode())


@given(st.text(), st.text())
def test_any_text_survives_its_own_json(name: str, text: str) -> None:
    job = JobSpec("j", "l", JobKind.PTX, ptx=(PtxText(name, text),))
    assert from_bytes(JobSpec, canonical_bytes(job)) == job


def test_an_inability_without_its_reading_cannot_be_stated() -> None:
    reading = ProbeReading("nvml", "nvml", "no library", 12, "2026-01-01T00:00:00+00:00", 0.1)
    assert Probe((reading,), (Inability("run", "no library", "nvml"),)).inability("run") is not None
    with pytest.raises(MalformedError):
        Probe((reading,), (Inability("run", "I suppose", "guess"),))


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 401, "9" * 20, "1e19"])
@pytest.mark.parametrize("place", ['{"wall_s": %s}', '{"processes": %s}'])
def test_a_number_that_no_column_holds_is_refused_as_malformed(number: str, place: str) -> None:
    limits = place % number
    raw = document(limits={"LIMITS": 0}).replace(b'{"LIMITS": 0}', limits.encode())
    with pytest.raises(MalformedError):
        read_job(raw)

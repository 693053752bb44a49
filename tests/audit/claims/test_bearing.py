"""A claim beside what was measured."""

from __future__ import annotations

import pytest

from audit.claims.bearing import Bearing, Measured, Place, hold_claims
from audit.claims.finding import find_claims

NOTHING = Measured((), (), ())


def place(symbol: str, *, outcome: str = "", rule: str = "FT001") -> Place:
    return Place(rule, "gpu/src/ops.rs", 7, f"minitorch_gpu::ops::{symbol}", outcome)


def bearing(text: str, measured: Measured) -> tuple[Bearing, str]:
    (held,) = hold_claims(find_claims(text), measured)
    return held.bearing, held.text


def test_a_number_is_borne_out_by_as_many_sites_with_a_known_outcome() -> None:
    ended = [place(f"op{number}", outcome="device-kernel") for number in range(3)]
    claim = "gpu: Migrated 3 sites."
    assert bearing(claim, Measured(ended, (), ())) == (
        Bearing.BORNE_OUT,
        "3 claimed; 3 sites ended with a known outcome (3 device-kernel).",
    )
    assert bearing(claim, Measured(ended[:2], (), ()))[0] is Bearing.NOT_BORNE_OUT
    vanished = [*ended[:2], place("op9")]
    assert bearing(claim, Measured(vanished, (), ()))[0] is Bearing.NOT_BORNE_OUT


def test_a_site_that_still_stands_in_what_is_named_speaks_against_the_claim() -> None:
    standing = [place("gpu_cumsum"), place("other")]
    told, text = bearing("Implemented `cumsum` on GPU.", Measured((), (), standing))
    assert told is Bearing.NOT_BORNE_OUT
    assert "FT001 in `minitorch_gpu::ops::gpu_cumsum` at gpu/src/ops.rs:7" in text
    ended = [place("cumsum", outcome="device-kernel")]
    assert bearing("Implemented `cumsum` on GPU.", Measured(ended, (), standing))[0] is Bearing.NOT_BORNE_OUT
    assert bearing("Implemented `cumsum` on GPU.", Measured(ended, (), ()))[0] is Bearing.BORNE_OUT


@pytest.mark.parametrize("outcome", ["structured-error", "opt-in-fallback", "removed", ""])
def test_a_refusal_or_removal_is_no_kernel(outcome: str) -> None:
    ended = [place("cumsum", outcome=outcome)]
    assert bearing("Implemented `cumsum` on GPU.", Measured(ended, (), ()))[0] is Bearing.NOT_TOLD


def test_of_what_no_scan_saw_nothing_is_told() -> None:
    for text in ("Implemented `cumsum` on GPU.", "There is no silent CPU fallback.", "Auto-routed on CUDA."):
        assert bearing(text, NOTHING)[0] is Bearing.NOT_TOLD


def test_no_fallback_is_not_borne_out_by_a_commit_that_brings_one_into_what_is_named() -> None:
    new = [place("roll")]
    claim = "There is no silent CPU fallback in `roll`."
    assert bearing(claim, Measured((), new, new))[0] is Bearing.NOT_BORNE_OUT
    elsewhere = [place("fold")]
    assert bearing(claim, Measured((), elsewhere, elsewhere))[0] is Bearing.NOT_TOLD


def test_a_claim_that_names_no_code_is_neither_agreed_with_nor_denied() -> None:
    ended, new = [place("roll", outcome="device-kernel")], [place("fold")]
    for text in ("There is no silent CPU fallback.", "feat: new CUDA kernels", "gpu: opt-in CPU fallback"):
        assert bearing(text, Measured(ended, new, new))[0] is Bearing.NOT_TOLD


def test_a_module_of_the_named_name_is_not_what_is_named() -> None:
    inside = Place("FT001", "gpu/src/unet.rs", 7, "minitorch_gpu::cumsum::helper")
    assert bearing("Implemented `cumsum` on GPU.", Measured((), (), [inside]))[0] is Bearing.NOT_TOLD
    method = Place("FT001", "gpu/src/unet.rs", 7, "minitorch_gpu::ops::CumsumBackward::backward")
    told = bearing("Implemented CumsumBackward on GPU.", Measured((), (), [method]))
    assert told[0] is Bearing.NOT_BORNE_OUT


def test_all_of_something_is_borne_out_when_nothing_is_open() -> None:
    claim = "All activation ops now run on the GPU."
    assert bearing(claim, NOTHING)[0] is Bearing.BORNE_OUT
    assert bearing(claim, Measured((), (), [place("relu")]))[0] is Bearing.NOT_TOLD
    notes = [place("relu", rule="FT018")]
    assert bearing(claim, Measured((), (), notes))[0] is Bearing.BORNE_OUT


def test_what_other_commits_of_a_change_count_is_counted_with_it() -> None:
    ended = [place(f"op{number}", outcome="removed") for number in range(5)]
    claims = find_claims("gpu: Migrated 3 sites.")
    for beside, expected in ((0, Bearing.BORNE_OUT), (2, Bearing.BORNE_OUT), (3, Bearing.NOT_BORNE_OUT)):
        (held,) = hold_claims(claims, Measured(ended, (), ()), claimed_beside=beside)
        assert held.bearing is expected


def test_a_refusal_is_borne_out_by_an_error_or_an_opt_in() -> None:
    claim = "On CUDA inputs `fold` now returns Err(NotImplementedOnCuda)."
    for outcome in ("structured-error", "opt-in-fallback"):
        assert bearing(claim, Measured([place("fold", outcome=outcome)], (), ()))[0] is Bearing.BORNE_OUT
    assert bearing(claim, Measured([place("fold", outcome="removed")], (), ()))[0] is Bearing.NOT_TOLD

"""What of a commit message is a claim, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.claims.finding import Claim, find_claims, sentences
from audit.claims.kinds import ClaimKind

CLAIMS = [
    ("Migrated 119 sites to device kernels.", ClaimKind.COUNTED, 119),
    ("migrated 119 sites", ClaimKind.COUNTED, 119),
    ("119/119 sites migrated", ClaimKind.COUNTED, 119),
    ("fix(jit): eliminate 3 silent fallbacks in graph_break (#110)", ClaimKind.COUNTED, 3),
    ("27 host-detour sites were migrated to narrow and cat.", ClaimKind.COUNTED, 27),
    ("feat(core,test): native PTX clamp_backward kernel", ClaimKind.ON_DEVICE, None),
    ("Implemented `cumsum` on GPU: the scan stays on the device.", ClaimKind.ON_DEVICE, None),
    ("The pool now dispatches to the GPU kernel for f32.", ClaimKind.ON_DEVICE, None),
    ("feat: 5 new PTX kernels, eliminating CPU round-trips", ClaimKind.NO_FALLBACK, None),
    ("The forward has no silent CPU fallback.", ClaimKind.NO_FALLBACK, None),
    ("CUDA inputs are auto-routed to the foreach path.", ClaimKind.AUTO_ROUTED, None),
    ("On CUDA inputs it now returns Err(NotImplementedOnCuda).", ClaimKind.REFUSED, None),
    ("gpu: opt-in CPU fallback per policy", ClaimKind.REFUSED, None),
    ("All activation ops now run on the GPU.", ClaimKind.COVERAGE, None),
]
NO_CLAIMS = [
    'Revert "Migrated 119 sites to device kernels."\n\nThis reverts commit 0123abc.',
    "plan to migrate 119 sites",
    "Migrated 58 sites to typed casts on the GPU path.",
    "fix: GPU audit, eliminate 150 crash sites across 39 files",
    "adam.rs:380 silent CPU fallback replaced",
    "#806 the nested ops have NO GPU implementation.",
    "Remaining: the GPU kernel for roll.",
    "A follow-up will implement fold on GPU.",
    "cargo test: the GPU kernel path passes.",
    "Bump to v0.4.7",
    "Closes #12 on GPU",
    "Co-Authored-By: Somebody on the GPU <a@example.org>",
    "Is everything on GPU?",
    "",
]


@pytest.mark.parametrize(("text", "kind", "count"), CLAIMS)
def test_a_claim_is_found_with_its_kind_and_number(text: str, kind: ClaimKind, count: int | None) -> None:
    (claim,) = find_claims(text)
    assert (claim.kind, claim.count) == (kind, count)


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_what_is_planned_missing_or_about_other_things_is_no_claim(text: str) -> None:
    assert find_claims(text) == ()


def test_a_sentence_over_several_lines_is_one_claim_at_its_first_line() -> None:
    message = "gpu: Rework\n\nIt was wrong.\n\n- Adds a CUDA\n  kernel for `roll`. The docs follow.\n- Else\n"
    assert find_claims(message) == (
        Claim(ClaimKind.ON_DEVICE, "Adds a CUDA kernel for `roll`.", 5, None, ("roll",)),
    )


def test_the_code_that_a_claim_names_is_kept_and_files_are_not() -> None:
    (claim,) = find_claims("Implemented `linalg::solve` and gpu_eig_f32 on GPU in `src/linalg.rs`.")
    assert claim.names == ("linalg::solve", "gpu_eig_f32")


def test_sites_are_counted_only_where_the_message_is_about_the_device() -> None:
    assert find_claims("docs: Tidy up\n\nMigrated 7 sites.") == ()
    (claim,) = find_claims("gpu: Migrate transforms\n\nMigrated 7 sites (5 of Transform).")
    assert (claim.count, claim.line) == (7, 3)


@given(st.text(max_size=400))
def test_any_text_is_read_without_a_claim_outside_it(text: str) -> None:
    lines = max(1, len(text.splitlines()))
    for line, sentence in sentences(text):
        assert 1 <= line <= lines
        assert sentence
    for claim in find_claims(text):
        assert 1 <= claim.line <= lines


@given(st.sampled_from(CLAIMS), st.integers(0, 5))
def test_a_claim_is_found_wherever_it_stands(claim: tuple[str, ClaimKind, int | None], above: int) -> None:
    text, kind, count = claim
    message = "\n".join(["gpu: Change things", "", *["Another line."] * above, "", f"- {text}"])
    assert [(found.kind, found.count) for found in find_claims(message)] == [(kind, count)]

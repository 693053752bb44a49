from __future__ import annotations

import pytest

from audit.knowledge.references import Reference, ReferenceKind, find_references, find_sites


def test_numbers_addresses_and_commits_are_told_apart() -> None:
    text = (
        "Closes #12, see PR #13 and pull request 14; fixed in 1af2b9cb7, not by `decade1`, color #fff; "
        "https://example.org/o/r/pull/77 and https://example.org/o/r/commit/0123456789abcdef; a1b2c3d4e"
    )
    assert set(find_references(text)) == {
        Reference(ReferenceKind.ISSUE, "12"),
        Reference(ReferenceKind.PULL, "13"),
        Reference(ReferenceKind.PULL, "14"),
        Reference(ReferenceKind.PULL, "77"),
        Reference(ReferenceKind.COMMIT, "1af2b9cb7"),
        Reference(ReferenceKind.COMMIT, "decade1"),
        Reference(ReferenceKind.COMMIT, "0123456789abcdef"),
    }


def test_a_site_is_named_by_word_link_or_address() -> None:
    assert find_sites("Fixes site 12, [[site:13]] and https://audit.example.org/sites/14/; 5 sites") == (
        12,
        13,
        14,
    )


@pytest.mark.parametrize("text", ["PR#12", "PR #12", "PRs #12", "MR !12", "MR!12", "merge request 12"])
def test_a_pull_request_is_one_however_its_number_is_joined_to_the_word(text: str) -> None:
    assert find_references(f"See {text}.") == (Reference(ReferenceKind.PULL, "12"),)


@pytest.mark.parametrize("text", ["SPR#12", "!12", "PR#12a", "a/b#12"])
def test_what_only_looks_like_a_pull_request_is_none(text: str) -> None:
    assert find_references(f"See {text}.") == ()

"""Suppressions in the source."""

from __future__ import annotations

import re

import pytest

from audit.scanner.report import Region
from audit.scanner.suppression import Allowance, find_allowances, suppressions_for

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def allowances(source: str) -> tuple[Allowance, ...]:
    data = source.encode()
    return find_allowances(data, [match.span() for match in _COMMENT.finditer(data)])


def statuses(source: str, line: int, rule: str = "silent-fallback") -> list[str]:
    rule_id = "FT001" if rule == "silent-fallback" else "FT008"
    return [found.status for found in suppressions_for(rule_id, rule, line, allowances(source))]


def test_a_comment_on_the_line_above_suppresses_with_its_reason() -> None:
    source = "fn a() {\n    // ferroaudit: allow(silent-fallback) the oracle of the tests\n    host();\n}\n"
    [suppression] = suppressions_for("FT001", "silent-fallback", 3, allowances(source))
    assert (suppression.kind, suppression.status) == ("inSource", "accepted")
    assert suppression.justification == "the oracle of the tests"
    assert suppression.region == Region(2, 5, 2, 66)


def test_a_comment_after_the_code_is_about_its_line_only() -> None:
    source = "host(); // ferroaudit: allow(FT001) measured\nhost();\n"
    assert (statuses(source, 1), statuses(source, 2)) == (["accepted"], [])


@pytest.mark.parametrize(
    "comment", ["// ferroaudit: allow(silent-fallback)", "// ferroaudit: allow(silent-fallback): "]
)
def test_a_comment_without_a_reason_is_rejected(comment: str) -> None:
    assert statuses(f"{comment}\nhost();\n", 2) == ["rejected"]


def test_a_comment_names_the_rules_it_allows() -> None:
    source = "// ferroaudit: allow(host-readback, FT001) a status word\nhost();\n"
    assert statuses(source, 2) == ["accepted"]
    assert statuses(source, 2, "host-readback") == ["accepted"]
    assert statuses("// ferroaudit: allow(host-readback) a status word\nhost();\n", 2) == []


def test_attributes_and_further_comments_lie_between_the_comment_and_its_code() -> None:
    source = (
        "// ferroaudit: allow(silent-fallback) first\n"
        "// ferroaudit: allow(host-readback) second\n"
        "#[inline]\n"
        "fn a() {}\n"
        "fn b() {}\n"
    )
    assert statuses(source, 4) == ["accepted"]
    assert statuses(source, 4, "host-readback") == ["accepted"]
    assert statuses(source, 5) == []


def test_a_block_comment_counts_and_a_doc_comment_does_not() -> None:
    assert statuses("/* ferroaudit: allow(FT001) measured */\nhost();\n", 2) == ["accepted"]
    assert statuses("/// ferroaudit: allow(FT001) measured\nfn a() {}\n", 2) == []


def test_an_empty_line_ends_the_reach_of_a_comment() -> None:
    assert statuses("// ferroaudit: allow(FT001) measured\n\nhost();\n", 3) == []


def test_carriage_returns_do_not_reach_the_reason() -> None:
    [found] = allowances("// ferroaudit: allow(FT001) measured\r\nhost();\r\n")
    assert found.reason == "measured"

"""A scan as text for people."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison, UnseenResult
from audit.scanner.output.source_text import SourceText
from audit.scanner.output.style import Style, style_for, visible
from audit.scanner.output.text import text_lines
from audit.scanner.report import (
    BaselineState,
    FileStatus,
    Level,
    ManifestEntry,
    Outcome,
    Region,
    RuleRun,
    RuleStatus,
    ScanReport,
    SiteOutcome,
)
from tests.audit.scanner.report_fixture import (
    FILE,
    RULES,
    SOURCE,
    make_report,
    make_result,
    make_suppression,
    results,
)

TEXTS = {FILE: SourceText(SOURCE)}


def shown(
    report: ScanReport,
    comparison: Comparison | None = None,
    style: Style | None = None,
    texts: Mapping[str, SourceText] = TEXTS,
) -> str:
    return "\n".join(text_lines(report, RULES, texts, style or Style(), comparison))


def test_a_result_shows_its_code_with_the_flagged_lines_marked() -> None:
    assert """\
  ╭─ gpu/src/kernels.rs:6:9 in gpu::kernels::gpu_add
  4 │     let kernel = match launch::load("add") {
  5 │         Ok(kernel) => kernel,
  6 ┃         Err(_) => {
  7 ┃             return cpu_add(a, b);
  8 ┃         }
  9 │     };
 10 │     kernel.run(a, b)
  ├─ anchor line 6 the arm of a failed load
  ├─ call   line 7 calls `cpu_add`
  ╰─ effect line 14 downloads `a`
         14 │ let host = a.to_host()?;
""" in shown(make_report(make_result()))


def test_a_region_in_one_line_is_underlined() -> None:
    text = shown(make_report(make_result(region=Region(14, 16, 14, 27), evidence=())))
    assert " 14 ┃     let host = a.to_host()?;\n    ┃                ^^^^^^^^^^^\n" in text


def test_a_long_region_is_cut_in_the_middle() -> None:
    source = "\n".join(f"line {number}" for number in range(1, 101))
    text = shown(
        make_report(make_result(region=Region(10, 1, 90, 5), evidence=())), texts={FILE: SourceText(source)}
    )
    assert " 18 ┃ line 18\n    ┊ 69 more lines\n 88 ┃ line 88\n" in text


def test_without_the_file_the_snippet_is_shown() -> None:
    text = shown(make_report(make_result()), texts={})
    assert " 6 ┃         Err(_) => {\n 7 ┃             return cpu_add(a, b);\n 8 ┃         }\n" in text


def test_results_are_grouped_by_crate_and_file() -> None:
    text = shown(
        make_report(
            make_result(),
            make_result(path="gpu/src/a.rs", evidence=()),
            make_result(crate="", path="loose.rs", evidence=()),
        )
    )
    assert text.index("(no crate)") < text.index("loose.rs") < text.index("── gpu ")
    assert text.index("gpu/src/a.rs") < text.index("gpu/src/kernels.rs")
    assert "2 results ──" in text


def test_every_result_says_its_state_against_the_baseline() -> None:
    new, old, lost = make_result(), make_result(symbol="old"), make_result(symbol="lost", path="lost.rs")
    comparison = Comparison(
        results=(ComparedResult(new, BaselineState.NEW), ComparedResult(old, BaselineState.UNCHANGED, old)),
        absent=(
            AbsentResult(lost, SiteOutcome(Outcome.STRUCTURED_ERROR, "returns an error")),
            AbsentResult(lost, None),
        ),
        unseen=(UnseenResult(lost, "lost.rs missing: partial clone"),),
    )
    text = shown(make_report(new, old), comparison)
    assert "error silent-fallback FT001  new\n" in text
    assert "error silent-fallback FT001  unchanged\n" in text
    assert "Against the baseline: 1 new, 1 unchanged, 0 updated, 2 absent" in text
    assert "FT001 lost.rs lost  structured-error\n" in text
    assert "FT001 lost.rs lost  outcome not known\n" in text
    assert "FT001 lost.rs lost  lost.rs missing: partial clone" in text


def test_the_summary_counts_by_rule_and_level() -> None:
    text = shown(make_report(make_result(), make_result(), make_result(rule_id="FT008", level=Level.NOTE)))
    rows = [line.split() for line in text.splitlines() if line.startswith(("  FT", "  all"))]
    assert rows == [
        ["FT001", "silent-fallback", "2", "2"],
        ["FT008", "host-readback", "1", "1"],
        ["all", "2", "1", "3"],
    ]


def test_suppressed_results_are_counted_and_not_shown() -> None:
    text = shown(make_report(make_result(suppressions=(make_suppression(),))))
    assert "kernels.rs" not in text
    assert "1 more result suppressed in the source, with a reason" in text


def test_a_comment_without_a_reason_is_told() -> None:
    text = shown(make_report(make_result(suppressions=(make_suppression("rejected", ""),))))
    assert "note: the comment in line 5 allows this without a reason, so it does not count" in text


def test_what_was_not_scanned_and_not_run_is_told_with_reasons() -> None:
    report = make_report(
        manifest=(
            ManifestEntry("sub", "", FileStatus.SKIPPED, "submodule"),
            ManifestEntry("a.rs", "", FileStatus.FAILED, "not UTF-8"),
        ),
        rule_runs=(
            RuleRun("FT001", RuleStatus.RAN),
            RuleRun("FT008", RuleStatus.NOT_RUN, "left out by --rules"),
        ),
    )
    text = shown(report)
    assert "Not scanned, or in part: 2 files\n  a.rs  failed: not UTF-8\n  sub  skipped: submodule" in text
    assert "Not run: 1 rule, which found nothing out\n  FT008 host-readback  left out by --rules" in text
    assert "No results from 1 rule." in text


def test_a_profile_can_not_steer_the_terminal() -> None:
    assert "profile \\u{1b}[2J" in shown(make_report(profile_name="\x1b[2J"))


def test_many_unscanned_files_are_cut_and_counted() -> None:
    entries = tuple(ManifestEntry(f"{number}.rs", "", FileStatus.MISSING, "why") for number in range(25))
    assert "and 5 more: --format json lists them all" in shown(make_report(manifest=entries))


def test_a_scanned_file_can_not_steer_the_terminal() -> None:
    source = SOURCE.replace('"add"', '"\x1b[2J\u202e"')
    text = shown(make_report(make_result(message="\x07bell")), texts={FILE: SourceText(source)})
    assert "\\u{1b}[2J\\u{202e}" in text
    assert "\\u{7}bell" in text
    assert not {"\x1b", "\u202e", "\x07"} & set(text)


@settings(deadline=None)
@given(st.lists(results(), max_size=3), st.booleans())
def test_any_results_can_be_shown_without_control_characters(found: list[object], has_unicode: bool) -> None:
    report = make_report(*found)  # type: ignore[arg-type]
    text = shown(report, style=Style(has_unicode=has_unicode), texts={})
    assert all(character == "\n" or visible(character) == character for character in text)


def test_ascii_signs_are_used_where_the_stream_has_no_others() -> None:
    text = shown(make_report(make_result()), style=Style(has_unicode=False))
    assert text.isascii()
    assert "  6 >         Err(_) => {" in text


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "has_colour"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_terminal_and_the_environment(variables: dict[str, str], has_colour: bool) -> None:
    assert style_for(Terminal(), variables).has_colour is has_colour


def test_a_pipe_has_no_colours_unless_they_are_forced() -> None:
    assert not style_for(io.StringIO(), {}).has_colour
    assert style_for(io.StringIO(), {"FORCE_COLOR": "1"}).has_colour

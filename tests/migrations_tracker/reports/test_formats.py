"""The text formats, whatever the facts hold."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
import zipfile
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from audit.scanner.output.markdown_text import escaped
from migrations_tracker.reports import pdf
from migrations_tracker.reports.archive import archive
from migrations_tracker.reports.csv_tables import report_csv
from migrations_tracker.reports.document import (
    SCHEMA,
    ClosedSite,
    Judge,
    OpenSite,
    ReportDocument,
    ScanLine,
    document_digest,
)
from migrations_tracker.reports.markdown import report_markdown
from migrations_tracker.reports.pdf import report_pdf
from workers.protocol.codec import from_json, to_json

OPEN = OpenSite(
    site=7,
    rule_id="FT001",
    rule_name="silent-fallback",
    level="error",
    crate="minitorch-gpu",
    path="minitorch-gpu/src/ops.rs",
    line=12,
    symbol="minitorch_gpu::ops::exp",
    message="computes on the host",
    status="open",
    assignee="",
    is_new=True,
)
CLOSED = ClosedSite(
    site=8,
    rule_id="FT001",
    rule_name="silent-fallback",
    crate="minitorch-gpu",
    path="minitorch-gpu/src/ops.rs",
    line=40,
    symbol="minitorch_gpu::ops::log",
    outcome="structured-error",
    shown_by="`log` returns a structured error",
    commit="c" * 40,
    status="open",
    verdict="",
    sentence="Removed silent CPU fallback in `log`; now returns Err(..).",
    clauses=("W1", "A1"),
)
SCAN = ScanLine(3, "a" * 40, "2026-11-01T10:00:00+00:00", "2026-11-01T10:01:00+00:00")
DOCUMENT = ReportDocument(
    schema=SCHEMA,
    repository="minitorch",
    repository_name="minitorch",
    branch="main",
    scan=SCAN,
    since=None,
    judge=Judge("1.0", "ferrotorch", "0" * 64, "", "1"),
    file_count=3,
    line_count=900,
    open_count=1,
    new_count=1,
    closed_count=1,
    gaps_open=0,
    gaps_closed=0,
    rules=(),
    crates=(),
    statuses=(),
    outcomes=(),
    remedies=(),
    open_sites=(OPEN,),
    closed_sites=(CLOSED,),
    files_not_scanned=(),
    rules_not_run=(),
)
TEXT = st.text(max_size=40)


def test_a_document_is_read_back_as_it_was_written() -> None:
    assert from_json(ReportDocument, to_json(DOCUMENT)) == DOCUMENT


def test_the_digest_is_of_the_facts() -> None:
    again = from_json(ReportDocument, to_json(DOCUMENT))
    assert document_digest(again) == document_digest(DOCUMENT)
    assert document_digest(dataclasses.replace(DOCUMENT, open_count=2)) != document_digest(DOCUMENT)


def test_markdown_says_what_is_known_and_what_is_not() -> None:
    text = report_markdown(DOCUMENT, "d" * 64)
    assert "Removed silent CPU fallback in `log`; now returns Err(..)." in text
    assert "| closed, not verified on a GPU | 1 |" in text
    assert "`minitorch-gpu/src/ops.rs:12`" in text
    assert "sha256:" + "d" * 64 in text


@given(TEXT, TEXT, TEXT)
def test_every_row_of_a_markdown_table_has_the_columns_of_its_head(path: str, symbol: str, said: str) -> None:
    document = dataclasses.replace(
        DOCUMENT,
        open_sites=(dataclasses.replace(OPEN, path=path, symbol=symbol, assignee=said),),
        closed_sites=(dataclasses.replace(CLOSED, path=path, sentence=said),),
    )
    width = 0
    for line in report_markdown(document, "").split("\n"):
        columns = len(re.findall(r"(?<!\\)\|", line))
        is_table = line.startswith("| ")
        assert not is_table or width in (0, columns), line
        width = columns if is_table else 0


STARTS = ("=", "+", "-", "@", "\t=", " =", "\uff1d", "\uff20", "\u3000\uff0b", "\ufeff=", "")
FORMULA = re.compile(r"[\s\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-]|[\t\r\n]")


@given(TEXT, st.sampled_from(STARTS))
def test_no_cell_of_the_csv_is_run_by_a_spreadsheet(text: str, start: str) -> None:
    cell = start + text.replace("\0", "")
    document = dataclasses.replace(
        DOCUMENT, open_sites=(dataclasses.replace(OPEN, symbol=cell, message=cell, path=cell),)
    )
    rows = list(csv.reader(io.StringIO("".join(report_csv(document)), newline="")))
    assert len(rows) == 3
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        assert not any(FORMULA.match(value) for value in row)


def test_the_same_files_give_the_same_archive() -> None:
    files = {"b.md": b"two", "a.csv": b"one"}
    assert archive(files) == archive(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(archive(files))) as found:
        assert {name: found.read(name) for name in found.namelist()} == files


class TestThePdf:
    """What is set from the Markdown of a report."""

    def test_of_the_same_report_has_the_same_bytes(self) -> None:
        made = [
            report_pdf("# One\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n", title="x", created_at=WHEN)
            for _ in "ab"
        ]
        assert made[0] == made[1]
        assert made[0].startswith(b"%PDF-")

    def test_has_the_numbers_of_the_report(self) -> None:
        text = text_of(
            report_pdf(
                "# One\n\n| what | sites |\n| --- | ---: |\n| open | 1,234 |\n", title="x", created_at=WHEN
            )
        )
        assert "1,234" in text
        assert "---" not in text

    def test_says_what_it_leaves_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pdf, "BLOCKS_SET", 3)
        text = text_of(report_pdf("\n".join(f"- entry {n}" for n in range(10)), title="x", created_at=WHEN))
        assert "entry 2" in text
        assert "entry 3" not in text
        assert "7 more entries" in text

    @pytest.mark.parametrize(
        "text",
        [
            "Łukasz Żółć, Dvořák, Ångström, Iğdır, Ștefan",
            "Ελένη Παπαδοπούλου, Щербак Наталія, Ђорђе",
            "Արմեն, ნინო",
            "a → b ⇒ c ↔ d, x ≤ y ≠ z ± 1, ∑ ∀ ∈ √ ∞, “so” – ‘it’ … €",
        ],
    )
    def test_shows_names_of_european_scripts_arrows_and_mathematics(self, text: str) -> None:
        made = report_pdf(
            f"# {text}\n\n- {text}\n\n| {text} |\n| --- |\n| {text} |\n", title=text, created_at=WHEN
        )
        assert text_of(made).replace("\n", " ").count(text) >= 2

    def test_repeats_the_head_of_a_table_on_each_page_and_numbers_them(self) -> None:
        rows = "\n".join(f"| minitorch_gpu::ops::op{n} | {n} |" for n in range(200))
        made = report_pdf(
            f"# One\n\n| symbol | sites |\n| --- | ---: |\n{rows}\n", title="x", created_at=WHEN
        )
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(made)).pages]
        assert len(pages) > 3
        for number, page in enumerate(pages, 1):
            assert "symbol" in page
            assert f"{number} / {len(pages)}" in page
        for n in range(200):
            assert sum(f"op{n} " in page.replace("\n", " ") for page in pages) == 1

    def test_names_its_headings_for_readers_that_list_them(self) -> None:
        made = report_pdf("# One\n\ntext\n\n## Two\n\ntext\n", title="x", created_at=WHEN)
        outline = PdfReader(io.BytesIO(made)).outline
        assert outline[0]["/Title"] == "One"  # type: ignore[call-overload]
        assert outline[1][0]["/Title"] == "Two"  # type: ignore[call-overload,index]

    # Fonts are read for each: a moment, on a busy machine a longer one.
    @settings(deadline=None, max_examples=40)
    @given(st.text(max_size=300))
    def test_takes_whatever_the_facts_hold(self, text: str) -> None:
        cell = escaped(text)
        assert report_pdf(f"# {cell}\n\n- {cell}\n\n| {cell} | x |\n", title=text, created_at=WHEN)


WHEN = datetime(2026, 11, 28, tzinfo=UTC)


def text_of(made: bytes) -> str:
    """Return what the pages show."""
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(made)).pages)

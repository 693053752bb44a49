"""A report as PDF: its Markdown, set by a small typesetter in a font that comes along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from unicodedata import normalize

from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.fonts import FontFace

from migrations_tracker.reports.sentences import CUT_SHORT

# Setting a thousand takes about a second: what is longer is not read on paper.
BLOCKS_SET = 4000
_SIZES = {1: 18, 2: 13, 3: 11}
_TEXT, _SMALL = 9, 8
_MARKS = re.compile(r"\\([\\|`*_<>#\[\]])|`+|\*\*")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_RULE = re.compile(r"[|:\- ]+")
# In millimetres: a heading stands with something of what it heads.
_BELOW_A_HEADING = 45
_CELL = re.compile(r"(?<!\\)\|")
# Where a name may be broken: behind what joins its parts.
_BREAKABLE = re.compile(r"::|[/_]")
# In millimetres, so that rounding breaks nothing that fits.
_SLACK = 0.5
_LINE_COLOUR, _HEAD_COLOUR = (205, 199, 190), (243, 240, 235)
_FONT = "DejaVu"
_FONTS = Path(__file__).parent / "fonts"
_FONT_FILES = {"": _FONTS / "DejaVuSans.ttf", "B": _FONTS / "DejaVuSans-Bold.ttf"}
# Stands for what the fonts can't show.
_UNKNOWN = "\ufffd"


class _Pages(FPDF):
    def footer(self) -> None:
        """Number the page."""
        self.set_y(-12)
        self.set_font(_FONT, size=_SMALL)
        self.cell(0, 6, f"{self.page_no()} / {{nb}}", align="R")


def report_pdf(markdown: str, *, title: str, created_at: datetime) -> bytes:
    """Return the PDF of a report; the same report gives the same bytes."""
    pages = _Pages(format="A4")
    for style, file in _FONT_FILES.items():
        pages.add_font(_FONT, style, file)
    pages.set_auto_page_break(auto=True, margin=16)
    pages.set_title(plain(title))
    pages.set_creator("Ferroaudit")
    pages.set_creation_date(created_at.astimezone(UTC))
    pages.add_page()
    blocks = list(_blocks(markdown.splitlines()))
    for block in blocks[:BLOCKS_SET]:
        _set(pages, block)
    if len(blocks) > BLOCKS_SET:
        _set(pages, [CUT_SHORT.said(count=len(blocks) - BLOCKS_SET).text])
    return bytes(pages.output())


def plain(text: str) -> str:
    """Return text without Markdown's marks, composed, in the characters that the fonts have."""
    bare = _MARKS.sub(lambda found: found.group(1) or "", _LINK.sub(r"\1", text))
    composed = normalize("NFC", bare.replace("&lt;", "<"))
    return "".join(one if ord(one) in _shown() else _UNKNOWN for one in composed)


@cache
def _shown() -> frozenset[int]:
    """Return the characters that both fonts have; a tab and the like are none."""
    tables = [TTFont(file).getBestCmap() for file in _FONT_FILES.values()]
    return frozenset(tables[0]) & frozenset(tables[1])


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield a heading, a list's entry or a paragraph by itself, and the lines of a table together."""
    table: list[str] = []
    for line in lines:
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            yield table
            table = []
        if line.strip():
            yield [line]
    if table:
        yield table


def _set(pages: _Pages, block: list[str]) -> None:
    first = block[0]
    if first.startswith("|"):
        rule = next((line for line in block if _RULE.fullmatch(line)), "")
        _table(pages, [_cells(line) for line in block if not _RULE.fullmatch(line)], _cells(rule))
        return
    level = len(first) - len(first.lstrip("#"))
    if 0 < level <= len(_SIZES):
        if pages.get_y() > pages.h - _BELOW_A_HEADING:
            pages.add_page()
        pages.ln(3)
        pages.set_font(_FONT, "B", _SIZES[level])
        text, indent = first[level:].strip(), 0.0
        pages.start_section(plain(text), level=level - 1, strict=False)
    else:
        pages.set_font(_FONT, size=_TEXT)
        is_entry = first.lstrip().startswith("- ")
        text, indent = (first.strip()[2:], 4.0) if is_entry else (first, 0.0)
        if is_entry:
            text = f"• {text}"
    pages.set_x(pages.l_margin + indent)
    pages.multi_cell(0, pages.font_size * 1.4, plain(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pages.ln(1)


def _cells(line: str) -> list[str]:
    return [plain(cell.strip()) for cell in _CELL.split(line.strip().strip("|"))]


def _table(pages: _Pages, rows: list[list[str]], rule: list[str]) -> None:
    pages.set_font(_FONT, size=_SMALL)
    count = max(len(row) for row in rows)
    full = [row + [""] * (count - len(row)) for row in rows]
    sides = tuple("RIGHT" if n < len(rule) and rule[n].endswith(":") else "LEFT" for n in range(count))
    widths = widths_fitting(_natural_widths(pages, full), pages.epw - _SLACK)
    pages.set_draw_color(*_LINE_COLOUR)
    with pages.table(
        align="LEFT",
        borders_layout="HORIZONTAL_LINES",
        col_widths=tuple(widths),
        headings_style=FontFace(emphasis="BOLD", fill_color=_HEAD_COLOUR),
        line_height=4.2,
        text_align=sides,
        width=sum(widths),
    ) as table:
        for row in full:
            line = table.row()
            for cell in row:
                line.cell(_BREAKABLE.sub("\\g<0>\u200b", cell))
    pages.ln(2)


def _natural_widths(pages: _Pages, rows: list[list[str]]) -> list[float]:
    """Return how wide each column is where nothing in it is broken."""
    between = 2 * pages.c_margin + _SLACK
    body = [
        max((pages.get_string_width(cell) for cell in column), default=0)
        for column in zip(*rows[1:], strict=True)
    ]
    pages.set_font(_FONT, "B", _SMALL)
    head = [pages.get_string_width(cell) for cell in rows[0]]
    pages.set_font(_FONT, size=_SMALL)
    return [max(pair) + between for pair in zip(head, body or head, strict=True)]


def widths_fitting(natural: Sequence[float], room: float) -> list[float]:
    """Return widths that fit: what is narrow keeps its own, and the widest columns share what is left."""
    left, widths = room, [0.0] * len(natural)
    for place, column in enumerate(sorted(range(len(natural)), key=lambda one: natural[one])):
        widths[column] = min(natural[column], left / (len(natural) - place))
        left -= widths[column]
    return widths

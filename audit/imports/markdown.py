"""Findings in Markdown: rows of tables, headed sections, and paragraphs or list items that name a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from audit.imports.rows import MAX_TITLE, Place, Reading, Refusal, Row, clipped, squeezed
from audit.imports.texts import commit_of, names_of, places_of, subjects_of

SEVERITY_MARKS = {"🔴": "high", "🟠": "high", "🟡": "medium", "🟢": "low", "🔵": "low"}
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s{0,8}(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_RULED = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_BOLD = re.compile(r"^\*\*(.+?)\*\*")
_LABEL = re.compile(r"^(?:\*\*[^*]{1,40}:\*\*|\*\*[^*]{1,40}\*\*\s*:)")
_WHERE = re.compile(r"^\W*(?:file|location|where|place|site|path)s?\W{0,4}:\W*(.*)$", re.IGNORECASE)
_SAID = re.compile(
    r"^[*\[(]*(critical|high|medium|low|major|minor|error|warning|note)\b[*\])]*:?", re.IGNORECASE
)
_CRATE = re.compile(r"^crate:?\s+`?([\w-]+)`?$", re.IGNORECASE)
_PLACE_COLUMNS = frozenset({"site", "sites", "file", "path", "location", "place", "where", "line", "lines"})
_TITLE_COLUMNS = frozenset({"finding", "title", "issue", "problem", "what", "what happens", "description"})
_SEVERITY_COLUMNS = frozenset({"severity", "level", "priority"})


@dataclass
class _Block:
    """Lines that belong together: a paragraph, a list item or a table, with where they begin."""

    line: int
    kind: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines as one."""
        return squeezed(" ".join(self.lines))


@dataclass
class _Section:
    """A heading with what stands below it, up to the next heading of any depth."""

    line: int
    title: str
    above: tuple[str, ...]
    blocks: list[_Block] = field(default_factory=list)

    @property
    def crate(self) -> str:
        """The crate that its headings name, the nearest first."""
        for title in (self.title, *reversed(self.above)):
            if match := _CRATE.match(title):
                return match[1]
        return ""

    @property
    def path(self) -> str:
        """Its headings, the outermost first."""
        return clipped(" › ".join((*self.above[1:], self.title)), 300)


def read_markdown(text: str) -> Reading:
    """Read a Markdown document."""
    rows: list[Row] = []
    refused: list[Refusal] = []
    for section in _sections(text):
        headed = _headed(section)
        if headed is not None:
            rows.append(headed)
            continue
        for block in section.blocks:
            if block.kind == "table":
                _read_table(section, block, rows, refused)
            elif (row := _prose(section, block)) is not None:
                rows.append(row)
            elif subjects_of(block.text) and not _LABEL.match(block.text):
                refused.append(Refusal(block.line, "it speaks of the device and names no line of code"))
    return Reading(tuple(rows), tuple(refused), commit_of(text[:4000]))


def _headed(section: _Section) -> Row | None:
    """Read a section as one finding: its heading names a place, or a field below it does."""
    if not section.title:
        return None
    places = _with_lines(places_of(section.title))
    fields = [
        match[1] for block in section.blocks for line in block.lines if (match := _WHERE.match(_plain(line)))
    ]
    if not places:
        places = tuple(place for text in fields for place in places_of(text))
    if not places:
        return None
    body = "\n".join(block.text for block in section.blocks if block.kind != "table")
    severity, title = _severity(section.title)
    return _row(section, section.line, title, body, severity or _severity_field(section), places)


def _severity_field(section: _Section) -> str:
    for block in section.blocks:
        for line in block.lines:
            match = re.match(r"^severity\W{1,5}(\w+)", _plain(line), re.IGNORECASE)
            if match:
                return match[1].lower()
    return ""


def _prose(section: _Section, block: _Block) -> Row | None:
    """Read a paragraph or list item: one that begins with a severity, or an item that names lines."""
    text = block.text
    severity, rest = _severity(text)
    places = places_of(rest)
    if severity:
        return _row(section, block.line, _title(rest), rest, severity, places)
    if block.kind != "item" or _LABEL.match(text) or not _with_lines(places):
        return None
    return _row(section, block.line, _title(rest), rest, "", places)


def _read_table(section: _Section, block: _Block, rows: list[Row], refused: list[Refusal]) -> None:
    header = [_plain(cell).lower() for cell in _cells(block.lines[0])]
    if not _PLACE_COLUMNS & set(header):
        refused.append(Refusal(block.line, "a table without a column for the place: " + ", ".join(header)))
        return
    for offset, line in enumerate(block.lines[2:], 2):
        cells = _cells(line)
        if len(cells) != len(header):
            reason = f"a table row with {len(cells)} cells where the head has {len(header)}"
            refused.append(Refusal(block.line + offset, reason))
        elif any(cells):
            rows.append(_table_row(section, block.line + offset, dict(zip(header, cells, strict=True))))


def _table_row(section: _Section, line: int, cells: Mapping[str, str]) -> Row:
    where = " ".join(_joined(cells, _PLACE_COLUMNS))
    path, lines = cells.get("file") or cells.get("path") or "", cells.get("line") or cells.get("lines") or ""
    places = places_of(f"{_plain(path)}:{lines}") if path and lines else places_of(where)
    said = next((cells[name] for name in cells if name in _TITLE_COLUMNS), "") or where
    severity = next((cells[name].lower() for name in cells if name in _SEVERITY_COLUMNS), "")
    text = "\n".join(f"{name}: {cell}" for name, cell in cells.items() if cell)
    row = _row(section, line, _sentence(said), text, _plain(severity), places)
    crate = _plain(cells.get("crate", "")) or row.crate
    return Row(**{name: getattr(row, name) for name in Row.__slots__} | {"crate": crate})


def _row(section: _Section, line: int, title: str, text: str, severity: str, places: Sequence[Place]) -> Row:
    return Row(
        line=line,
        title=clipped(_plain(title) or "(untitled)", MAX_TITLE),
        text=text,
        section=section.path,
        severity=severity,
        crate=section.crate,
        places=tuple(places),
        names=names_of(f"{title}\n{text}"),
        rule_ids=subjects_of(f"{title}\n{text}"),
    )


def _severity(text: str) -> tuple[str, str]:
    """Part the severity from what follows it; the first is empty where a text names none."""
    mark = text[:1]
    if mark in SEVERITY_MARKS:
        return SEVERITY_MARKS[mark], text[1:].lstrip("\ufe0f ")
    match = _SAID.match(text)
    if match:
        return match[1].lower(), text[match.end() :].lstrip(" :—–-]*)")
    return "", text


def _title(text: str) -> str:
    """Take what is bold at the start, with its code, or the first sentence."""
    match = _BOLD.match(text)
    return match[1] if match else _sentence(text)


def _sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s|\s[—–]\s", text, maxsplit=1)[0]


def _plain(text: str) -> str:
    """Take the marks of bold off a text, and those of code where all of it is code."""
    text = squeezed(text.replace("**", "").replace("__", ""))
    return text.strip("` ") if text.count("`") == 2 and text[0] == text[-1] == "`" else text


def _joined(cells: Mapping[str, str], names: frozenset[str]) -> list[str]:
    return [cell for name, cell in cells.items() if name in names]


def _with_lines(places: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(place for place in places if place.start)


def _cells(line: str) -> list[str]:
    """Part a table's row at its bars; a bar in code or behind a backslash parts nothing."""
    text = line.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    cells, current, is_code = [], "", False
    for index, character in enumerate(text):
        if character == "`":
            is_code = not is_code
        if character == "|" and not is_code and text[index - 1 : index] != "\\":
            cells.append(current.strip())
            current = ""
        else:
            current += character
    return [*cells, current.strip()]


def _sections(text: str) -> Iterator[_Section]:
    stack: list[tuple[int, str]] = []
    section = _Section(1, "", ())
    lines = text.splitlines()
    fence = ""
    block: _Block | None = None
    for number, raw in enumerate(lines, 1):
        if fence:
            fence = "" if raw.strip().startswith(fence) else fence
            continue
        if opening := _FENCE.match(raw):
            fence, block = opening[1], None
            continue
        if heading := _HEADING.match(raw):
            yield section
            depth = len(heading[1])
            stack = [(level, title) for level, title in stack if level < depth]
            section = _Section(number, heading[2], tuple(title for _, title in stack))
            stack.append((depth, heading[2]))
            block = None
            continue
        block = _extended(section, block, number, raw, lines[number] if number < len(lines) else "")
    yield section


def _extended(section: _Section, block: _Block | None, number: int, raw: str, below: str) -> _Block | None:
    """Put a line where it belongs: to the block before it, or to one of its own."""
    if not raw.strip():
        return None
    item = _ITEM.match(raw)
    if block is not None and block.kind == "table" and "|" in raw:
        block.lines.append(raw)
        return block
    if "|" in raw and _RULED.match(below):
        block = _Block(number, "table", [raw])
    elif item is not None:
        block = _Block(number, "item", [item[1]])
    elif block is not None and block.kind != "table" and raw[:1] not in SEVERITY_MARKS:
        block.lines.append(raw)
        return block
    else:
        block = _Block(number, "paragraph", [raw])
    section.blocks.append(block)
    return block

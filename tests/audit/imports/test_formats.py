from __future__ import annotations

import json

import pytest

from audit.imports.formats import Format, read_document
from audit.imports.rows import MAX_BYTES, MAX_ROWS, ImportFormatError, Place

MARKDOWN = """# Audit at commit 0123abc4d

## GPU

| Crate | Site | What happens |
|---|---|---|
| mini-gpu | `ops.rs:10, 20-24` | A kernel that fails falls back to the CPU. |
| mini-gpu | `a | b` in `ops.rs` | no cell is lost at a bar in code |
| broken | row |

| Crate | Blocks |
|---|---|
| mini-gpu | 3 |

### Crate: mini-core

🔴 **`relu` swallows the kernel's error** — `src/ops.rs:7` — silent CPU fallback.

🟡 **No lints**

- `src/a.rs:5` names a line
- a GPU op falls back to the CPU somewhere
- **Did**: read `src/b.rs:9`

```
| File | Line |
|---|---|
| x.rs | 1 |
```

#### Gate is read once (`src/gate.rs:3`)

The gate of the GPU fallback.

#### Second

**File**: `src/two.rs:8`
**Severity**: high
"""


def test_markdown_yields_tables_headed_findings_paragraphs_and_items() -> None:
    chosen, reading = read_document(MARKDOWN.encode(), file_name="a.md")
    assert chosen is Format.MARKDOWN
    assert reading.commit == "0123abc4d"
    assert [(row.title, row.crate, row.severity, row.places) for row in reading.rows] == [
        (
            "A kernel that fails falls back to the CPU.",
            "mini-gpu",
            "",
            (Place("ops.rs", 10, 10), Place("ops.rs", 20, 24)),
        ),
        ("no cell is lost at a bar in code", "mini-gpu", "", (Place("ops.rs"),)),
        ("`relu` swallows the kernel's error", "mini-core", "high", (Place("src/ops.rs", 7, 7),)),
        ("No lints", "mini-core", "medium", ()),
        ("`src/a.rs:5` names a line", "mini-core", "", (Place("src/a.rs", 5, 5),)),
        ("Gate is read once (`src/gate.rs:3`)", "mini-core", "", (Place("src/gate.rs", 3, 3),)),
        ("Second", "mini-core", "high", (Place("src/two.rs", 8, 8),)),
    ]


def test_what_markdown_holds_and_is_not_read_is_told_with_its_line() -> None:
    _, reading = read_document(MARKDOWN.encode(), file_name="a.md")
    lines = MARKDOWN.split("\n")
    told = {one.line: one.reason for one in reading.refused}
    assert told[lines.index("| broken | row |") + 1] == "a table row with 2 cells where the head has 3"
    assert "without a column for the place" in told[lines.index("| Crate | Blocks |") + 1]
    assert "names no line" in told[lines.index("- a GPU op falls back to the CPU somewhere") + 1]
    assert len(told) == 3


def test_csv_knows_columns_by_their_names_and_refuses_bad_rows_with_their_lines() -> None:
    text = "Finding;File;Line;Severity\nfalls back;a.rs;12-14;High\nbad;b.rs;twelve;low\nshort;c.rs\n;;;\n"
    _, reading = read_document(text.encode(), file_name="a.csv")
    assert [(row.title, row.places, row.severity, row.line) for row in reading.rows] == [
        ("falls back", (Place("a.rs", 12, 14),), "high", 2)
    ]
    assert [(one.line, one.reason) for one in reading.refused] == [
        (3, "`twelve` is no line number"),
        (4, "2 cells where the first row names 4 columns"),
    ]


def test_sarif_keeps_the_commit_the_places_and_the_logical_names() -> None:
    log = {
        "version": "2.1.0",
        "runs": [
            {
                "versionControlProvenance": [{"revisionId": "0123456789abcdef"}],
                "results": [
                    {
                        "ruleId": "FT001",
                        "level": "error",
                        "message": {"text": "falls back"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": "src/my%20ops.rs"},
                                    "region": {"startLine": 3, "endLine": 5},
                                },
                                "logicalLocations": [{"fullyQualifiedName": "mini::ops::relu"}],
                            }
                        ],
                    },
                    {"ruleId": "FT002"},
                ],
            }
        ],
    }
    chosen, reading = read_document(json.dumps(log).encode(), file_name="a.json")
    assert (chosen, reading.commit) == (Format.SARIF, "0123456789abcdef")
    (row,) = reading.rows
    assert (row.places, row.names, row.rule_ids) == ((Place("src/my ops.rs", 3, 5),), ("relu",), ("FT001",))
    assert "result 2" in reading.refused[0].reason


def test_issues_are_keyed_by_their_number_whatever_becomes_of_their_text() -> None:
    def read(body: str) -> tuple[str, str]:
        issues = [{"number": 7, "title": "GPU falls back", "body": body, "labels": [{"name": "high"}]}]
        _, reading = read_document(json.dumps(issues).encode(), file_name="issues.json")
        return reading.rows[0].key, reading.rows[0].reference

    assert read("see src/ops.rs:3") == read("edited: src/ops.rs#L4")
    assert read("")[1] == "#7"


def test_the_same_document_has_the_same_keys_and_equal_rows_have_two() -> None:
    text = b"file,line,finding\na.rs,1,x\na.rs,1,x\n"
    first = [row.key for row in read_document(text, file_name="a.csv")[1].rows]
    assert first == [row.key for row in read_document(text, file_name="a.csv")[1].rows]
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"# Nothing\n", "a.md", "No finding"),
        (b"ok\n\xff", "a.md", "Line 2: byte 3 is not UTF-8"),
        (b"{\n 1}", "a.sarif", "Line 2, column 2"),
        (b"{}", "a.sarif", "no `runs`"),
        (b'{"x": 1}', "a.json", "no list of issues"),
        (b"a,b\n1,2\n", "a.csv", "Line 1: no column"),
        (b'file,line\n"a.rs,1\n', "a.csv", "Line 2"),
        (b"x", "a.pdf", "tells no format"),
        (b" " * (MAX_BYTES + 1), "a.md", "are the most"),
        (b"file,line\n" + b"a.rs,1\n" * (MAX_ROWS + 1), "a.csv", "are the most"),
        (b"[" * 200_000, "a.json", "nested too deeply|Line"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused_with_line_and_reason(
    data: bytes, name: str, message: str
) -> None:
    with pytest.raises(ImportFormatError, match=message):
        read_document(data, file_name=name)

"""Markdown files of a tree are read for what they claim."""

from __future__ import annotations

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import FileStatus
from audit.scanner.source.memory import MemorySource


def test_a_claim_in_a_changelog_is_a_result_at_its_line() -> None:
    changelog = "# Changes\n\n- Sums — on the card.\n- Products; falls back to CPU on error.\n"
    files = {"src/lib.rs": b"pub fn f() {}\n", "CHANGELOG.md": changelog.encode()}
    report = scan(MemorySource(files), profile=load_profile(), rules=RULES)
    assert [(one.rule_id, one.path, one.region.start_line, one.symbol) for one in report.results] == [
        ("FT018", "CHANGELOG.md", 4, "CHANGELOG.md")
    ]
    assert report.results[0].region.start_column == len("- Products; ") + 1
    assert ("CHANGELOG.md", FileStatus.SCANNED) in [(one.path, one.status) for one in report.manifest]

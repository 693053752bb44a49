"""Pages that are made from the code say what the code says, and links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.write_docs import DOCS, PAGES

ROOT = DOCS.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


@pytest.mark.parametrize(("name", "make"), PAGES, ids=[name for name, _ in PAGES])
def test_a_page_made_from_the_code_is_up_to_date(name: str, make: Callable[[], str]) -> None:
    assert (DOCS / name).read_text() == make(), "run `make docs`"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_target_of_make_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"`make ([a-z]+)[^`]*`", document.read_text()))
        assert named <= targets, document

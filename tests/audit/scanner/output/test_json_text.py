"""JSON with indentation is what the standard library writes."""

from __future__ import annotations

import json
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.output.json_text import json_text

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
)


class Word(StrEnum):
    """A string of another type."""

    ONE = "one"


@given(DOCUMENTS)
def test_a_document_is_written_as_json_writes_it(document: object) -> None:
    assert json_text(document) == json.dumps(document, indent=2, ensure_ascii=False)


def test_members_of_enumerations_are_written_as_the_strings_they_are() -> None:
    document = {"a": Word.ONE, Word.ONE: [{"y": [Word.ONE, "\ud800\n"]}]}
    assert json_text(document) == json.dumps(document, indent=2, ensure_ascii=False)

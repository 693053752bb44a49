"""JSON with indentation is what the standard library writes."""

from __future__ import annotations

import json
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.output.json_text import LONG_LISTS, json_text

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
)


class Word(StrEnum):
    """A string of another type."""

    ONE = "one"


def without_long_lists(document: object) -> object:
    if isinstance(document, dict):
        return {key: without_long_lists(one) for key, one in document.items() if key not in LONG_LISTS}
    return list(map(without_long_lists, document)) if isinstance(document, list | tuple) else document


@given(DOCUMENTS.map(without_long_lists))
def test_a_document_is_written_as_json_writes_it(document: object) -> None:
    assert json_text(document) == json.dumps(document, indent=2, ensure_ascii=False)


@given(st.sampled_from(sorted(LONG_LISTS)), st.lists(DOCUMENTS, min_size=1))
def test_the_elements_of_a_long_list_stand_on_a_line_each(name: str, elements: list[object]) -> None:
    head, *lines, end, last = json_text({name: elements}).split("\n")
    assert (head, end, last) == ("{", "  ]", "}")
    assert lines[0] == f'  "{name}": ['
    written = [line.strip().removesuffix(",") for line in lines[1:]]
    assert written == [json.dumps(one, ensure_ascii=False) for one in elements]


@given(st.lists(DOCUMENTS))
def test_an_iterator_is_written_as_the_long_list_that_it_yields(elements: list[object]) -> None:
    assert json_text({"results": iter(elements)}) == json_text({"results": elements})
    assert json_text({"results": iter(())}) == json_text({"results": []})


def test_members_of_enumerations_are_written_as_the_strings_they_are() -> None:
    document = {"a": Word.ONE, Word.ONE: [{"y": [Word.ONE, "\ud800\n"]}]}
    assert json_text(document) == json.dumps(document, indent=2, ensure_ascii=False)
    line = json.dumps({"y": [Word.ONE, "\ud800\n"]}, ensure_ascii=False)
    assert line in json_text({"results": document[Word.ONE]})

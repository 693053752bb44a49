from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.imports.rows import Place
from audit.imports.texts import names_of, places_of, subjects_of


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("`src/a.rs:3,7–9`", [Place("src/a.rs", 3, 3), Place("src/a.rs", 7, 9)]),
        ("a.rs:3:14", [Place("a.rs", 3, 3)]),
        ("`k.rs` (65+ sites incl. lines 14 and 20-21)", [Place("k.rs", 14, 14), Place("k.rs", 20, 21)]),
        ("g/{x,y}.rs", [Place("g/x.rs"), Place("g/y.rs")]),
        ("https://example.org/o/r/blob/1af2b9cb7/src/a.rs#L10-L20", [Place("src/a.rs", 10, 20)]),
        ("`a.rs` and `a.rs:4`", [Place("a.rs", 4, 4)]),
        ("version 1.2 of e.g. this", []),
        ("a.rs:9-3", [Place("a.rs")]),
    ],
)  # fmt: skip
def test_places_are_read_as_people_write_them(text: str, places: list[Place]) -> None:
    assert list(places_of(text)) == places


def test_names_are_the_last_parts_of_code() -> None:
    assert names_of("`a::b::gpu_add`, `Foo`, `x.rs`, `let y = 1`, `run!`, `f(a, b)`") == (
        "gpu_add",
        "Foo",
        "run",
    )


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("the GPU op falls back to the CPU", ("FT001",)),
        ("a silent fallback of the settings file", ()),
        ("`data_vec()` on CUDA", ("FT008",)),
        ("rule FT016 at x", ("FT016",)),
        ("no `// SAFETY:` comment on the kernel launch", ()),
    ],
)
def test_a_subject_needs_a_device(text: str, rules: tuple[str, ...]) -> None:
    assert subjects_of(text) == rules


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for place in places_of(text):
        assert place.path
        assert 0 <= place.start <= place.end
    assert len(names_of(text)) <= 60

"""The variants of an enum, as written."""

from __future__ import annotations

from audit.scanner.link.enums import variants_of


def test_variants_are_told_with_what_they_hold() -> None:
    text = """pub enum Error<T> where T: Copy {
        /// Was Kernel(String) once, with a {brace}.
        #[error("no kernel [{0}]: see https://example.org")]
        Kernel(Cause<T, u8>),
        Unsupported { op: &'static str, dtype: DType }, // Plain(String),
        Code = 3,
        Nothing
    }"""
    assert variants_of(text) == [
        ("Kernel", "(Cause<T, u8>)"),
        ("Unsupported", "{ op: &'static str, dtype: DType }"),
        ("Code", "= 3"),
        ("Nothing", ""),
    ]


def test_an_enum_without_variants_has_none() -> None:
    assert variants_of("enum Never {}") == []
    assert variants_of("enum Broken") == []

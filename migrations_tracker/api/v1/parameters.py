"""The kinds of values that requests bring."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def without_nul(text: str) -> str:
    """Return a text that the database can hold; raise where it can't."""
    # PostgreSQL's texts hold no zero byte.
    if "\0" in text:
        raise ValueError("a zero byte is no text")
    return text


Key = Annotated[int, Field(ge=1, lt=2**63)]
Word = Annotated[str, Field(max_length=200), AfterValidator(without_nul)]
Text = Annotated[str, Field(max_length=20_000), AfterValidator(without_nul)]
Version = Annotated[int, Field(ge=1, lt=2**31, description="The version that was read.")]

"""Lists that are read page by page, each page from a cursor on."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from ninja import Schema
from pydantic import Field

Item = TypeVar("Item")
Cursor = Annotated[str, Field(max_length=4_000, description="`next` or `previous` of another page.")]


class Page(Schema, Generic[Item]):
    """Some of a list. `next` and `previous` are cursors, empty at the ends; `total` counts all that fit."""

    items: list[Item]
    next: str = ""
    previous: str = ""
    total: int | None = None

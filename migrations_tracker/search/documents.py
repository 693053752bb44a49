"""What is indexed: a document, and the source that yields all of one kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.db.models import Model, Q

TEXT_SHOWN = 4000


def in_scope(column: str, scope: int | None) -> Q:
    """Return the condition that a row belongs to a scope, by the column of its repository's id."""
    return Q(**{f"{column}__isnull": True}) if scope is None else Q(**{column: scope})


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found.

    `title` and `text` are shown. The others are indexed, from the weightiest on: `names` it is called by,
    `words` that tell what it is about, its `prose`, and `code`. A `boost` above 1 puts it before its equals.
    """

    key: str
    address: str
    title: str
    text: str = ""
    names: str = ""
    words: str = ""
    prose: str = ""
    code: str = ""
    crate: str = ""
    rule_id: str = ""
    boost: float = 1.0


class Source(ABC):
    """All documents of one kind, in one scope at a time: a repository, or the whole installation (None).

    `state` names what the documents are made of, cheaply: while it is the same, they are. A bulk kind has
    very many documents, of which a search ranks only some. `model` is what the rows behind the documents are,
    where there are any.
    """

    kind: ClassVar[str]
    label: ClassVar[str]
    model: ClassVar[type[Model] | None] = None
    is_bulk: ClassVar[bool] = False

    @abstractmethod
    def states(self) -> Mapping[int | None, str]:
        """Return the state of each scope, by the repository's id."""

    @abstractmethod
    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the documents of a scope; of a bulk kind those that are not in the index as they are."""

    def gone(self, scope: int | None) -> Iterator[str]:
        """Yield the keys that a bulk kind has no documents of any more."""
        raise NotImplementedError

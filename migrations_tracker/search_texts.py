"""An answer of the search as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from migrations_tracker.selectors.search import CLOSE_MARK, OPEN_MARK, Answer


def as_document(answer: Answer, *, base: str) -> dict[str, Any]:
    """Return an answer as a program reads it; `base` is the address of the installation."""
    return {
        "question": answer.filters.question,
        "asked_instead": {word: list(others) for word, others in answer.corrections.items()},
        "total": answer.total,
        "is_cut": answer.is_cut,
        "kinds": {kind: count for kind, _, count in answer.kinds},
        "hits": [
            {
                "kind": hit.kind,
                "key": hit.key,
                "title": hit.title,
                "address": base.rstrip("/") + hit.address,
                "text": plain(hit.snippet),
                "repository": hit.repository,
                "crate": hit.crate,
                "rule": hit.rule_id,
                "score": round(hit.score, 4),
            }
            for hit in answer.hits
        ],
    }


def as_lines(answer: Answer, *, base: str) -> Iterator[str]:
    """Yield an answer as a terminal shows it."""
    for word, others in answer.corrections.items():
        yield f"Nothing has `{word}`; asked for {' or '.join(others)} instead."
    if not answer.hits:
        yield "Nothing was found."
    for number, hit in enumerate(answer.hits, 1):
        where = f" [{hit.repository}]" if hit.repository else ""
        yield f"{number}. {hit.kind} {hit.title}{where}"
        yield f"   {plain(hit.snippet)}"
        yield f"   {base.rstrip('/')}{hit.address}"


def plain(snippet: str) -> str:
    """Return a snippet on one line, without its marks."""
    return " ".join(snippet.replace(OPEN_MARK, "").replace(CLOSE_MARK, "").split())

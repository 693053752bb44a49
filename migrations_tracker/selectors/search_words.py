"""The words of a question that nobody wrote, as far as the asking person may know, and what was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any

from django.db import connection

from migrations_tracker.search.words import SHORTEST_WORD

# A word differs in so many letters at most from one that it may stand for; a short one in one.
MOST_LETTERS, SHORT = 3, 6
SIMILAR_SHOWN = 2
# Words that differ by more than what two letters exchanged make are looked for among all, for so many words.
NEAR_LETTERS, SCANNED_AT_MOST = 2, 2
# A name is put together from its parts' corrections in so many ways at most.
COMPOSED_AT_MOST = 16
# What follows all letters and digits: the end of those that begin with something.
_AFTER = "{"
# Words that carry no meaning have no lexeme.
_SEEN = "lexeme <> '' AND (%(all)s OR repository_id IS NULL OR repository_id = ANY(%(seen)s::bigint[]))"
_KNOWN = f"""
    SELECT word, lexeme FROM migrations_tracker_searchword
    WHERE (word = ANY(%(words)s) OR lexeme = ANY(%(lexemes)s)) AND {_SEEN}
"""  # noqa: S608 - the clause above
# One that is spelt wrong in one place keeps its first part or its last, both of which an index has.
_ANCHORED = f"""
    SELECT word, lexeme FROM migrations_tracker_searchword
    WHERE word >= a.begins AND word < a.begins || '{_AFTER}'
    AND length(word) BETWEEN length(a.asked) - a.most AND length(a.asked) + a.most AND {_SEEN}
    UNION
    SELECT word, lexeme FROM migrations_tracker_searchword
    WHERE reverse(word) >= a.ends AND reverse(word) < a.ends || '{_AFTER}'
    AND length(word) BETWEEN length(a.asked) - a.most AND length(a.asked) + a.most AND {_SEEN}
"""  # noqa: S608
_ALL = f"""
    SELECT DISTINCT word, lexeme FROM migrations_tracker_searchword
    WHERE length(word) BETWEEN length(a.asked) - a.most AND length(a.asked) + a.most AND {_SEEN}
    AND levenshtein_less_equal(word, a.asked, a.most) <= a.most
"""  # noqa: S608
_NEAREST = """
    SELECT a.asked, near.word, near.lexeme, near.letters
    FROM unnest(%(asked)s::text[], %(most)s::int[], %(begins)s::text[], %(ends)s::text[])
        AS a(asked, most, begins, ends)
    CROSS JOIN LATERAL (
        SELECT word, lexeme, levenshtein_less_equal(word, a.asked, a.most) AS letters
        FROM ({candidates}) AS c
        WHERE levenshtein_less_equal(word, a.asked, a.most) <= a.most
        ORDER BY letters, abs(length(word) - length(a.asked)), word LIMIT {shown}
    ) AS near
    ORDER BY a.asked, near.letters, abs(length(near.word) - length(a.asked)), near.word
"""
Corrections = dict[str, Mapping[str, str]]


def words_known(*, lexemes: Mapping[str, str], seen: Sequence[int] | None) -> frozenset[str]:
    """Return the words that some document has, by themselves or by their lexeme; short ones pass."""
    rows = _asked(_KNOWN, seen, words=list(lexemes), lexemes=[one for one in lexemes.values() if one])
    words, stems = {row[0] for row in rows}, {row[1] for row in rows}
    return frozenset(
        word
        for word, lexeme in lexemes.items()
        if word in words or lexeme in stems or len(word) < SHORTEST_WORD
    )


def words_corrected(
    *, unknown: Iterable[str], parts: Mapping[str, Sequence[str]], seen: Sequence[int] | None
) -> Corrections:
    """Return similar words that some document has for each that none has, with their lexemes.

    The nearest come first; two letters exchanged count as two. `parts` are those of the names asked for: a
    name whose parts are put right is the name of the right parts, where there is one.
    """
    words = [word for word in unknown if len(word) >= SHORTEST_WORD]
    found: Corrections = {}
    far = []
    for word, similar in _nearest(words, _ANCHORED, seen).items():
        if similar and (_most(word) == 1 or similar[0][2] <= NEAR_LETTERS):
            found[word] = {other: lexeme for other, lexeme, _ in similar}
        elif _most(word) > 1:
            far.append(word)
    found |= _composed([word for word in far if word in parts], parts, found, seen)
    left = sorted((word for word in far if word not in found), key=len, reverse=True)[:SCANNED_AT_MOST]
    for word, similar in _nearest(left, _ALL, seen).items():
        if similar:
            found[word] = {other: lexeme for other, lexeme, _ in similar}
    return found


def _composed(
    names: Sequence[str],
    parts: Mapping[str, Sequence[str]],
    found: Mapping[str, Mapping[str, str]],
    seen: Sequence[int] | None,
) -> Corrections:
    """Put names together from their parts' corrections; keep those that some document has."""
    made = {
        name: ["".join(ways) for ways in islice(product(*choices), COMPOSED_AT_MOST)]
        for name in names
        for choices in [[[*found.get(part, ())] or [part] for part in parts[name]]]
    }
    if not made:
        return {}
    rows = dict(_asked(_KNOWN, seen, words=[one for ways in made.values() for one in ways], lexemes=[]))
    return {
        name: {one: rows[one] for one in there[:SIMILAR_SHOWN]}
        for name, ways in made.items()
        for there in [[one for one in ways if one in rows]]
        if there
    }


def _nearest(
    words: Sequence[str], candidates: str, seen: Sequence[int] | None
) -> dict[str, list[tuple[str, str, int]]]:
    nearest: dict[str, list[tuple[str, str, int]]] = {word: [] for word in words}
    if not words:
        return nearest
    kept = {word: max(1, len(word) // (2 if _most(word) == 1 else 3)) for word in words}
    rows = _asked(
        _NEAREST.format(candidates=candidates, shown=SIMILAR_SHOWN),
        seen,
        asked=list(words),
        most=[_most(word) for word in words],
        begins=[word[: kept[word]] for word in words],
        ends=[word[::-1][: kept[word]] for word in words],
    )
    for asked, word, lexeme, letters in rows:
        # The rows come by their distance: only those as near as the first are likely meant.
        if not nearest[asked] or nearest[asked][0][2] == letters:
            nearest[asked].append((word, lexeme, letters))
    return nearest


def _most(word: str) -> int:
    return 1 if len(word) < SHORT else MOST_LETTERS


def _asked(statement: str, seen: Sequence[int] | None, **values: list[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {**values, "all": seen is None, "seen": list(seen or ())})
        rows: list[Any] = cursor.fetchall()
    return rows

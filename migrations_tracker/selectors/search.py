"""Searching: a question in words becomes ranked documents with the place that answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import QueryDict

from migrations_tracker.search.registry import SOURCES_BY_KIND
from migrations_tracker.search.words import (
    SYNONYMS,
    asks_for_a_clause,
    compounds,
    distinct,
    is_name,
    tokens,
)
from migrations_tracker.selectors.search_words import words_corrected, words_known
from migrations_tracker.selectors.standings import repository_ids_seen_by

PAGE_SIZE = 20
RANKED = 200
# Of the documents that are very many, so many are ranked that have all words, that have a part of a name, and
# that have a name whole: those that are come by first, as to sort them would be to read all.
BULK_RANKED = 300
MAX_QUESTION = 400
MAX_WORDS = 14
# A word that is in more of the documents than this says little; without better ones it still has to do.
COMMON_SHARE = 0.3
# Where more documents than this have one of the words, only those that have two of them are ranked; and of
# what is left no more than these, what is named so first.
MOST_LOOKED_AT, PAIRED = 1500, 6
# What a clause is worth to who asks what may or must be done.
CLAUSE_WORTH = 1.4
OPEN_MARK, CLOSE_MARK = "\x02", "\x03"
# How much a word counts in code, prose, words and names, in this order.
_WEIGHTS = "{0.05, 0.25, 0.55, 1.0}"


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """What the answer is narrowed to; an empty field does not narrow.

    `seen` are the repositories that the asking person sees, None where nobody in particular asks.
    """

    question: str = ""
    kind: str = ""
    repository: str = ""
    rule: str = ""
    page: int = 1
    seen: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found. `snippet` holds OPEN_MARK and CLOSE_MARK around the words asked for."""

    kind: str
    label: str
    key: str
    address: str
    title: str
    snippet: str
    repository: str
    crate: str
    rule_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search gave. `corrections` maps words that nothing has to those that were asked for instead.

    Facets count among the documents that were ranked; `is_cut` says that there are more.
    """

    filters: SearchFilters
    hits: Sequence[Hit] = ()
    total: int = 0
    is_cut: bool = False
    corrections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kinds: Sequence[tuple[str, str, int]] = ()
    rules: Sequence[tuple[str, int]] = ()
    repositories: Sequence[tuple[str, int]] = ()

    @property
    def has_next(self) -> bool:
        """Whether there is another page."""
        return self.filters.page * PAGE_SIZE < self.total


@dataclass(slots=True)
class _Term:
    """A word of the question: the lexemes that stand for it, and what finding it is worth."""

    word: str
    lexemes: list[str]
    documents: int = 0
    weight: float = 1.0
    is_name: bool = False

    @property
    def query(self) -> str:
        """The term as a `tsquery`."""
        return " | ".join(f"'{lexeme}'" for lexeme in self.lexemes)


def filters_read(query: QueryDict, user: User) -> SearchFilters:
    """Read a search from a URL, for a person; a value that is none is left out."""
    kind, page = query.get("kind", ""), query.get("page", "")
    return SearchFilters(
        question=_clean(query.get("q", ""))[:MAX_QUESTION],
        kind=kind if kind in SOURCES_BY_KIND else "",
        repository=_clean(query.get("repository", ""))[:100],
        rule=_clean(query.get("rule", ""))[:10],
        page=int(page) if page.isdecimal() and 1 <= len(page) <= 2 and int(page) else 1,
        seen=repository_ids_seen_by(user),
    )


def search(*, filters: SearchFilters) -> Answer:
    """Answer a question with documents, the best first."""
    terms, corrections = _terms(filters)
    if not terms:
        return Answer(filters, corrections=corrections)
    rows = _ranked(filters, terms)
    chosen = rows[(filters.page - 1) * PAGE_SIZE : filters.page * PAGE_SIZE]
    snippets = _snippets([row[0] for row in chosen], terms)
    return Answer(
        filters=filters,
        hits=[_hit(row, snippets.get(row[0], "")) for row in chosen],
        total=len(rows),
        is_cut=len(rows) >= RANKED,
        corrections=corrections,
        kinds=[
            (kind, SOURCES_BY_KIND[kind].label, count)
            for kind, count in Counter(row[1] for row in rows).most_common()
            if kind in SOURCES_BY_KIND
        ],
        rules=Counter(row[7] for row in rows if row[7]).most_common(8),
        repositories=Counter(row[5] for row in rows if row[5]).most_common(8),
    )


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _terms(filters: SearchFilters) -> tuple[list[_Term], Mapping[str, Sequence[str]]]:
    """Take a question apart: its words, weighed by how rare they are, misspelt ones put right."""
    words: list[tuple[str, bool]] = []
    for raw in filters.question.split():
        parts = list(tokens(raw))
        named = len(parts) > 1 and is_name(raw.strip(".,;:?!()\"'`"))
        words += [(part, named) for part in parts]
    named_words = {word for word, named in words if named}
    asked = distinct(word for word, _ in words)[:MAX_WORDS]
    lexemes = _lexemes([*asked, *(other for word in asked for other in SYNONYMS.get(word, ()))])
    terms = [_Term(word, [lexemes[word]], is_name=word in named_words) for word in asked if lexemes.get(word)]
    known = words_known(lexemes={term.word: term.lexemes[0] for term in terms}, seen=filters.seen)
    unknown = [term for term in terms if term.word not in known]
    corrected = words_corrected(
        unknown=[term.word for term in unknown], parts=compounds(filters.question), seen=filters.seen
    )
    for term in unknown:
        term.lexemes = distinct(corrected.get(term.word, {}).values())
    for term in terms:
        term.lexemes += [lexemes[o] for o in SYNONYMS.get(term.word, ()) if lexemes.get(o)]
    counts, total = _counts(terms)
    for term in terms:
        term.documents = sum(counts.get(lexeme, 0) for lexeme in term.lexemes)
        # A word weighs what it is asked by, whatever else stands for it; one that is put right weighs as one
        # that is rare: it is what the question is about, and was meant. At least one document is reckoned
        # with: nothing weighs nothing.
        documents = counts.get(lexemes[term.word], 0) if term.word in known else 0
        term.weight = math.log(1 + max(total, 1) / (1 + documents))
    return [term for term in terms if term.lexemes], {word: list(one) for word, one in corrected.items()}


def _lexemes(words: Sequence[str]) -> dict[str, str]:
    """Return the lexeme of each word; words that carry no meaning have none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT word, (tsvector_to_array(to_tsvector('english', word)))[1] "
            "FROM unnest(%s::text[]) AS word",
            [list(words)],
        )
        return {word: lexeme for word, lexeme in cursor.fetchall() if lexeme}


def _counts(terms: Sequence[_Term]) -> tuple[dict[str, int], int]:
    """Count the documents that have each lexeme of the words asked for, and all."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, documents FROM migrations_tracker_searchlexeme WHERE lexeme = ANY(%s)",
            [["", *(lexeme for term in terms for lexeme in term.lexemes)]],
        )
        counts = dict(cursor.fetchall())
    return counts, counts.pop("", 0)


def _ranked(filters: SearchFilters, terms: Sequence[_Term]) -> list[tuple]:  # type: ignore[type-arg]
    best = max(term.weight for term in terms)
    telling = [t for t in terms if t.weight >= math.log(1 + 1 / COMMON_SHARE)] or [
        t for t in terms if t.weight == best
    ]
    names = [term for term in terms if term.is_name]
    narrowed, values = _narrowing(filters)
    # Nothing from the question is written into the text: `narrowed` is made of the clauses of `_narrowing`.
    # What is limited is materialised: with a limit in sight the planner reads the whole table instead of the
    # index when it expects more matches than there are.
    bulk = f"""MATERIALIZED (
            SELECT id FROM migrations_tracker_searchdocument
            WHERE is_bulk AND vector @@ %s::tsquery {narrowed}
        )"""  # noqa: S608
    statement = f"""
        WITH having_all AS {bulk}, having_part AS {bulk}, having_whole AS {bulk},
        found AS (
            (SELECT id FROM migrations_tracker_searchdocument
             WHERE NOT is_bulk AND vector @@ %s::tsquery {narrowed}
             ORDER BY vector @@ %s::tsquery DESC, boost DESC, id DESC LIMIT {MOST_LOOKED_AT})
            UNION (SELECT id FROM having_all LIMIT {BULK_RANKED})
            UNION (SELECT id FROM having_part LIMIT {BULK_RANKED})
            UNION (SELECT id FROM having_whole LIMIT {BULK_RANKED})
        )
        SELECT d.id, d.kind, d.key, d.address, d.title, coalesce(r.slug, ''), d.crate, d.rule_id,
            d.boost * s.rank * s.share
                * CASE WHEN lower(d.key) = %s OR lower(d.title) = %s THEN 4 ELSE 1 END
                * CASE WHEN d.kind = 'clause' THEN %s ELSE 1 END AS score
        FROM migrations_tracker_searchdocument AS d
        LEFT JOIN audit_repository AS r ON r.id = d.repository_id
        CROSS JOIN LATERAL (SELECT d.vector || ''::tsvector AS vector OFFSET 0) AS unpacked
        CROSS JOIN LATERAL (
            SELECT sum(worth * ts_rank('{_WEIGHTS}', unpacked.vector, term, 1)) AS rank,
                sum(worth) FILTER (WHERE unpacked.vector @@ term) / sum(worth) AS share
            FROM unnest(%s::text[]::tsquery[], %s::float8[]) AS asked(term, worth)
        ) AS s
        WHERE d.id = ANY (ARRAY (SELECT id FROM found)) AND s.share > 0
        ORDER BY score DESC, d.kind, d.key, d.id
        LIMIT {RANKED}
    """  # noqa: S608
    exact, whole = filters.question.lower(), compounds(filters.question)
    parameters: list[Any] = [
        *(" & ".join(f"({term.query})" for term in terms), *values),
        *(_any(names or terms, joint=" | " if names else " & "), *values),
        *(_any([term for term in names if term.word in whole]), *values),
        *(_wanted(telling), *values, _any_name(telling)),
        *(exact, exact, CLAUSE_WORTH if asks_for_a_clause(filters.question) else 1.0),
        *([term.query for term in terms], [term.weight for term in terms]),
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        # A large table is read from where another reader is: what is come by first would be others each time.
        cursor.execute("SELECT set_config('synchronize_seqscans', 'off', true)")
        cursor.execute(statement, parameters)
        rows: list[tuple] = cursor.fetchall()  # type: ignore[type-arg]
    return rows


def _wanted(terms: Sequence[_Term]) -> str:
    """Return what is ranked: documents with any of the words, or with two where these are too many."""
    if sum(term.documents for term in terms) <= MOST_LOOKED_AT or len(terms) == 1:
        return _any(terms)
    rarest = sorted(terms, key=lambda term: term.documents)[:PAIRED]
    alone = [term.query for term in rarest if term.documents <= MOST_LOOKED_AT // PAIRED]
    pairs = [f"({one.query}) & ({other.query})" for one, other in combinations(rarest, 2)]
    return " | ".join(f"({query})" for query in (*alone, *pairs))


def _any(terms: Sequence[_Term], joint: str = " | ") -> str:
    return joint.join(f"({term.query})" for term in terms)


def _any_name(terms: Sequence[_Term]) -> str:
    """Return what fits documents that are named by one of the words."""
    return " | ".join(f"'{lexeme}':A" for term in terms for lexeme in term.lexemes)


def _narrowing(filters: SearchFilters) -> tuple[str, list[object]]:
    clauses: dict[str, object] = {
        "kind = %s": filters.kind,
        "rule_id = %s": filters.rule,
        "repository_id = (SELECT id FROM audit_repository WHERE slug = %s)": filters.repository,
    }
    used = {clause: value for clause, value in clauses.items() if value}
    if filters.seen is not None:
        used["(repository_id IS NULL OR repository_id = ANY(%s))"] = list(filters.seen)
    return "".join(f" AND {clause}" for clause in used), list(used.values())


def _snippets(ids: Sequence[int], terms: Sequence[_Term]) -> dict[int, str]:
    options = (
        f'StartSel="{OPEN_MARK}", StopSel="{CLOSE_MARK}", MaxWords=38, MinWords=18, MaxFragments=2, '
        'FragmentDelimiter=" … "'
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, ts_headline('english', text, %s::tsquery, %s) "
            "FROM migrations_tracker_searchdocument WHERE id = ANY(%s)",
            [_any(terms), options, list(ids)],
        )
        return dict(cursor.fetchall())


def _hit(row: tuple, snippet: str) -> Hit:  # type: ignore[type-arg]
    _, kind, key, address, title, repository, crate, rule_id, score = row
    label = SOURCES_BY_KIND[kind].label if kind in SOURCES_BY_KIND else kind
    return Hit(kind, label, key, address, title, snippet, repository, crate, rule_id, score)

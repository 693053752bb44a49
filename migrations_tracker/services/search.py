"""Keeping the search index: what changed is written, the rest stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.db import connection, transaction

from migrations_tracker.models import SearchDocument, SearchLexeme, SearchMark, SearchWord
from migrations_tracker.search.documents import TEXT_SHOWN, Document, Source, in_scope
from migrations_tracker.search.registry import SOURCES
from migrations_tracker.search.words import LONGEST, SHORTEST_WORD, indexed

# Any number that nothing else of this database locks: one process at a time writes the index.
INDEX_LOCK = 7_365_007
_COLUMNS = (
    *("kind", "key", "address", "title", "text", "repository_id", "crate", "rule_id", "boost", "is_bulk"),
    *("names", "words", "prose", "code"),
)
_TOLD = ", ".join(_COLUMNS)
_NEW = ", ".join(f"EXCLUDED.{column}" for column in _COLUMNS)
_STAGE = f"""
    CREATE TEMP TABLE search_stage ON COMMIT DROP AS
    SELECT {_TOLD} FROM migrations_tracker_searchdocument WITH NO DATA
"""  # noqa: S608 - the names of the columns above
_REMOVE = """
    DELETE FROM migrations_tracker_searchdocument AS d
    WHERE d.kind = %s AND d.repository_id IS NOT DISTINCT FROM %s
    AND NOT EXISTS (SELECT FROM search_stage AS s WHERE s.key = d.key)
"""
_WRITE = f"""
    INSERT INTO migrations_tracker_searchdocument AS d ({_TOLD})
    SELECT {_TOLD} FROM search_stage
    ON CONFLICT (kind, key) DO UPDATE SET ({_TOLD}) = ROW ({_NEW})
    WHERE ({", ".join(f"d.{column}" for column in _COLUMNS)}) IS DISTINCT FROM ({_NEW})
"""  # noqa: S608
_LEXEMES = """
    INSERT INTO migrations_tracker_searchlexeme (lexeme, documents)
    SELECT word, ndoc
    FROM ts_stat('SELECT vector FROM migrations_tracker_searchdocument WHERE NOT is_bulk')
    WHERE length(word) <= %s
    UNION ALL SELECT '', count(*) FROM migrations_tracker_searchdocument WHERE NOT is_bulk
"""
# The words of prose are many and common; where a document is one of a hundred thousand, its names are enough.
_WORDS = """
    INSERT INTO migrations_tracker_searchword (word, lexeme, repository_id)
    SELECT word, coalesce((tsvector_to_array(to_tsvector('english', word)))[1], ''), %(scope)s
    FROM (
        SELECT DISTINCT word FROM search_stage,
            unnest(string_to_array(names || ' ' || words || ' ' || prose || ' ' || code, ' ')) AS word
        WHERE length(word) BETWEEN %(shortest)s AND %(longest)s
        EXCEPT SELECT word FROM migrations_tracker_searchword
        WHERE repository_id IS NOT DISTINCT FROM %(scope)s
    ) AS fresh
"""


def search_refresh(*, kinds: Iterable[str] | None = None) -> dict[str, int]:
    """Bring the index up to date; return how many documents of each kind were written or removed.

    A kind whose source says that it is as it was costs one query. While another process is at it, nothing is
    done: what it leaves is found the next time.
    """
    wanted = None if kinds is None else frozenset(kinds)
    changed: dict[str, int] = {}
    for source in SOURCES:
        if wanted is not None and source.kind not in wanted:
            continue
        marks: dict[int | None, str] = dict(
            SearchMark.objects.filter(kind=source.kind).values_list("repository_id", "state")
        )
        states = source.states()
        for scope in [*states, *(scope for scope in marks if scope not in states)]:
            state = states.get(scope, "")
            if marks.get(scope) != state:
                count = _scope_write(source, scope, state)
                changed[source.kind] = changed.get(source.kind, 0) + count
    if any(changed.get(source.kind) for source in SOURCES if not source.is_bulk):
        _lexemes_count()
    return changed


def _lexemes_count() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [INDEX_LOCK])
        SearchLexeme.objects.all().delete()
        cursor.execute(_LEXEMES, [LONGEST])


def search_reindex() -> dict[str, int]:
    """Build the index anew, as it would be had it never been there."""
    with transaction.atomic():
        SearchMark.objects.all().delete()
        SearchWord.objects.all().delete()
        SearchDocument.objects.all().delete()
        return search_refresh()


def _scope_write(source: Source, scope: int | None, state: str) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [INDEX_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute("DROP TABLE IF EXISTS search_stage")
        cursor.execute(_STAGE)
        # Read first: a query on a connection that is in the middle of COPY waits for itself for ever.
        rows = list(_rows(source, scope)) if state else []
        with cursor.copy(f"COPY search_stage ({_TOLD}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        count: int
        if source.is_bulk:
            gone = SearchDocument.objects.filter(kind=source.kind, key__in=list(source.gone(scope)))
            count = gone.delete()[0]
        else:
            cursor.execute(_REMOVE, [source.kind, scope])
            count = cursor.rowcount
        cursor.execute(_WRITE)
        count += cursor.rowcount
        cursor.execute(_WORDS, {"scope": scope, "shortest": SHORTEST_WORD, "longest": LONGEST})
        if state:
            mark = SearchMark.objects.filter(in_scope("repository_id", scope), kind=source.kind).first()
            mark = mark or SearchMark(kind=source.kind, repository_id=scope)
            mark.state = state
            mark.save()
        else:
            SearchMark.objects.filter(in_scope("repository_id", scope), kind=source.kind).delete()
    return max(count, 0)


def _rows(source: Source, scope: int | None) -> Iterator[Sequence[object]]:
    for document in source.documents(scope):
        yield _row(source, scope, document)


def _row(source: Source, scope: int | None, document: Document) -> Sequence[object]:
    return (
        source.kind,
        document.key,
        document.address,
        # PostgreSQL's texts hold no zero byte.
        document.title.replace("\0", ""),
        document.text[:TEXT_SHOWN].replace("\0", ""),
        scope,
        document.crate,
        document.rule_id,
        document.boost,
        source.is_bulk,
        indexed(document.names),
        indexed(document.words),
        indexed(document.prose),
        indexed(document.code),
    )

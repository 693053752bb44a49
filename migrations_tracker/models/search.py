"""The index that is searched: one row for each thing that can be found, and the words there are."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Length, Reverse

from audit.models import Repository


def _weighed(column: str, weight: str) -> SearchVector:
    return SearchVector(column, weight=weight, config=Value("english"))


class SearchDocument(models.Model):
    """One thing that can be found. `kind` and `key` name it; what a page shows of it is kept beside.

    `names`, `words`, `prose` and `code` are the text as it is indexed, from the weightiest on. A bulk
    document is one of very many, such as a site: of those only some are ranked.
    """

    kind = models.CharField(max_length=20, db_collation="C")
    key = models.CharField(max_length=300, db_collation="C")
    address = models.CharField(max_length=700)
    title = models.TextField()
    text = models.TextField(blank=True)
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    rule_id = models.CharField(max_length=10, blank=True, db_collation="C")
    boost = models.FloatField(default=1.0)
    is_bulk = models.BooleanField(default=False)
    names = models.TextField(blank=True)
    words = models.TextField(blank=True)
    prose = models.TextField(blank=True)
    code = models.TextField(blank=True)
    vector = models.GeneratedField(
        expression=_weighed("names", "A")
        + _weighed("words", "B")
        + _weighed("prose", "C")
        + _weighed("code", "D"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        constraints = (models.UniqueConstraint(name="search_document_once", fields=["kind", "key"]),)
        indexes = (
            GinIndex(name="search_document_bulk_idx", fields=["vector"], condition=Q(is_bulk=True)),
            GinIndex(name="search_document_idx", fields=["vector"], condition=Q(is_bulk=False)),
            models.Index(name="search_document_place_idx", fields=["kind", "repository", "id"]),
        )

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


class SearchWord(models.Model):
    """A word that some document of a repository has, or of none: what a misspelt one is held against.

    Who has no role in a repository is told nothing by its words, so each repository has its own.
    """

    word = models.CharField(max_length=60, db_collation="C")
    lexeme = models.CharField(max_length=60, blank=True, db_collation="C")
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="search_word_once", fields=["word", "repository"], nulls_distinct=False
            ),
        )
        indexes = (
            models.Index(name="search_word_lexeme_idx", fields=["lexeme"]),
            # What is spelt wrong at the end of a word, or in its middle, leaves its beginning or its end.
            models.Index(Reverse("word"), name="search_word_reversed_idx"),
            models.Index(Length("word"), name="search_word_length_idx"),
        )

    def __str__(self) -> str:
        return self.word


class SearchLexeme(models.Model):
    """How many documents have a lexeme, without those that are very many; the empty one has the total."""

    lexeme = models.CharField(max_length=200, unique=True, db_collation="C")
    documents = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.documents}"


class SearchMark(models.Model):
    """Up to which state a kind of document is indexed; for a repository, or for all of the installation.

    `state` is what the kind's source says of itself: as long as it is the same, nothing has to be done.
    """

    kind = models.CharField(max_length=20, db_collation="C")
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    state = models.CharField(max_length=200, db_collation="C")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="search_mark_once", fields=["kind", "repository"], nulls_distinct=False
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.state}"

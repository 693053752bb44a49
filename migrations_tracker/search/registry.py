"""Every kind of document that can be searched."""

from __future__ import annotations

from collections.abc import Mapping

from migrations_tracker.search.documents import Source
from migrations_tracker.search.knowledge import (
    EntrySource,
    FindingSource,
    NoteSource,
    PrecedentSource,
    PullRequestSource,
)
from migrations_tracker.search.shipped import ClauseSource, FormSource, OperatorSource, RuleSource
from migrations_tracker.search.stored import CrateSource, SiteSource, UnitSource

SOURCES: tuple[Source, ...] = (
    ClauseSource(),
    RuleSource(),
    FormSource(),
    OperatorSource(),
    EntrySource(),
    PrecedentSource(),
    NoteSource(),
    FindingSource(),
    PullRequestSource(),
    CrateSource(),
    UnitSource(),
    SiteSource(),
)
SOURCES_BY_KIND: Mapping[str, Source] = {source.kind: source for source in SOURCES}

"""Recognising known sites in the results of a scan, from strict to loose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from audit.scanner.report import Result

SITE_KEYS = "site/"
"""The fingerprints that tell one place from all others; several versions may stand side by side."""


class MatchPass(StrEnum):
    """How a result was recognised."""

    FINGERPRINT = "fingerprint"
    SAME_ITEM = "same-item"
    NEW = "new"


CONFIDENCE = {MatchPass.FINGERPRINT: 1.0, MatchPass.SAME_ITEM: 0.9, MatchPass.NEW: 1.0}


@dataclass(frozen=True, slots=True)
class KnownSite:
    """A site as it was last recognised.

    `may_have_changed` tells a site that the scan could look at and that was open before it: only such a
    site can be the earlier form of an edited place.
    """

    site_id: int
    rule_id: str
    symbol: str
    path: str
    partial_fingerprints: Mapping[str, str]
    may_have_changed: bool


@dataclass(frozen=True, slots=True)
class Match:
    """What a result was recognised as; `site_id` is None for a place not seen before."""

    result: int
    site_id: int | None
    match_pass: MatchPass

    @property
    def confidence(self) -> float:
        """How sure the pass is, from 0 to 1."""
        return CONFIDENCE[self.match_pass]


def match_results(known: Sequence[KnownSite], results: Sequence[Result]) -> list[Match]:
    """Give each result its site: at most one result for a site, and one answer for each result, in order.

    Neither the order of the known sites nor that of the results decides anything.
    """
    free_sites = {site.site_id: site for site in sorted(known, key=lambda site: site.site_id)}
    free_results = dict(enumerate(results))
    found: dict[int, Match] = {}

    def take(pairs: Iterable[tuple[int, int]], match_pass: MatchPass) -> None:
        for index, site_id in pairs:
            found[index] = Match(index, site_id, match_pass)
            del free_results[index], free_sites[site_id]

    keys = {key for result in results for key in result.partial_fingerprints if key.startswith(SITE_KEYS)}
    for key in sorted(keys, reverse=True):
        take(_same_fingerprint(key, free_sites, free_results), MatchPass.FINGERPRINT)
    take(_same_item(free_sites, free_results), MatchPass.SAME_ITEM)
    return [found.get(index) or Match(index, None, MatchPass.NEW) for index in range(len(results))]


def _same_fingerprint(
    key: str, sites: Mapping[int, KnownSite], results: Mapping[int, Result]
) -> list[tuple[int, int]]:
    """Pair what shares the fingerprint `key`; among equals, those in the same file first."""
    pairs = _pair(
        sites,
        results,
        lambda site: _fingerprint(site.rule_id, site.partial_fingerprints, key, site.path),
        lambda result: _fingerprint(result.rule_id, result.partial_fingerprints, key, result.path),
    )
    paired_results = {index for index, _ in pairs}
    paired_sites = {site_id for _, site_id in pairs}
    pairs += _pair(
        {site_id: site for site_id, site in sites.items() if site_id not in paired_sites},
        {index: result for index, result in results.items() if index not in paired_results},
        lambda site: _fingerprint(site.rule_id, site.partial_fingerprints, key),
        lambda result: _fingerprint(result.rule_id, result.partial_fingerprints, key),
    )
    return pairs


def _same_item(sites: Mapping[int, KnownSite], results: Mapping[int, Result]) -> list[tuple[int, int]]:
    """Pair the one site and the one result that are left of a rule in an item."""
    return _pair(
        sites,
        results,
        lambda site: (site.rule_id, site.symbol) if site.may_have_changed and site.symbol else None,
        lambda result: (result.rule_id, result.symbol) if result.symbol else None,
        only_one_to_one=True,
    )


def _fingerprint(rule_id: str, fingerprints: Mapping[str, str], key: str, *more: str) -> Hashable | None:
    value = fingerprints.get(key)
    return (rule_id, value, *more) if value else None


def _pair(
    sites: Mapping[int, KnownSite],
    results: Mapping[int, Result],
    site_key: Callable[[KnownSite], Hashable | None],
    result_key: Callable[[Result], Hashable | None],
    *,
    only_one_to_one: bool = False,
) -> list[tuple[int, int]]:
    sites_by_key: dict[Hashable, list[int]] = defaultdict(list)
    results_by_key: dict[Hashable, list[int]] = defaultdict(list)
    for site_id, site in sites.items():
        if (key := site_key(site)) is not None:
            sites_by_key[key].append(site_id)
    for index, result in results.items():
        if (key := result_key(result)) is not None:
            results_by_key[key].append(index)
    pairs: list[tuple[int, int]] = []
    for key, indexes in results_by_key.items():
        candidates = sites_by_key.get(key, [])
        if only_one_to_one and not len(indexes) == len(candidates) == 1:
            continue
        indexes.sort(key=lambda index: (*_place(results[index]), index))
        pairs.extend(zip(indexes, candidates, strict=False))
    return pairs


def _place(result: Result) -> tuple[str | int, ...]:
    region = result.region
    return (result.path, region.start_line, region.start_column, result.symbol, result.form, result.message)

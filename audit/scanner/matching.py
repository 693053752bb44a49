"""Recognising known sites in the results of a scan, from strict to loose."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from typing import TypeVar

from audit.scanner.fingerprint import ANCHOR_KEY, BODY_KEY, SITE_KEYS, tokens
from audit.scanner.report import Result

FAMILIES = (frozenset({"FT001", "FT002", "FT005", "FT006", "FT007", "FT008", "FT011", "FT013"}),)
"""Rules that see one thing from several sides: a fallback that is spelled anew may change between them."""

_SAME, _ALMOST = 1.0, 0.999
_SIMILAR = 0.6
_SAME_CODE = 0.75
_TELLING_TOKENS = 20
_COMMENT_WORD = re.compile(r"\w+")
_FAMILY_OF = {rule_id: number for number, family in enumerate(FAMILIES) for rule_id in family}


def is_one_family(one: str, other: str) -> bool:
    """Whether two rules are one, or see one thing from several sides."""
    family = _FAMILY_OF.get(one)
    return one == other or (family is not None and family == _FAMILY_OF.get(other))


class MatchPass(StrEnum):
    """How a result was recognised."""

    FINGERPRINT = "fingerprint"
    SAME_ITEM = "same-item"
    NEAREST = "nearest"
    RESPELLED = "respelled"
    MOVED = "moved"
    SAME_BODY = "same-body"
    NEW = "new"


CONFIDENCE = {
    MatchPass.FINGERPRINT: 1.0,
    MatchPass.SAME_ITEM: 0.9,
    MatchPass.NEAREST: 0.6,
    MatchPass.RESPELLED: 0.8,
    MatchPass.MOVED: 0.85,
    MatchPass.SAME_BODY: 0.8,
    MatchPass.NEW: 1.0,
}

_One = TypeVar("_One", "KnownSite", Result)
CodeOf = Callable[[Collection[int]], Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class KnownSite:
    """A site as it was last recognised.

    `may_have_changed` tells a site that the scan could look at and that was open before it: only such a
    site can be the earlier form of an edited place. One that `may_return` was gone before it, and so is its
    file: it is known again by its whole function, wherever that stands by now. `start_line` is 0 where it
    is not known. `file_is_gone` tells that no file has the site's path any more, `item_is_gone` that the
    function or constant that it stood in is gone.
    """

    site_id: int
    rule_id: str
    symbol: str
    path: str
    partial_fingerprints: Mapping[str, str]
    may_have_changed: bool
    start_line: int = 0
    may_return: bool = False
    file_is_gone: bool = False
    item_is_gone: bool = False


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


def match_results(
    known: Sequence[KnownSite], results: Sequence[Result], code_of: CodeOf | None = None
) -> list[Match]:
    """Give each result its site: at most one result for a site, and one answer for each result, in order.

    Neither the order of the known sites nor that of the results decides anything. `code_of` is asked once,
    for the code of the sites that no fingerprint tells; without it code is not compared.
    """
    matcher = _Matcher(known, results)
    matcher.match_fingerprints()
    matcher.match_edited(code_of)
    matcher.match_returned()
    return matcher.answers()


class _Matcher:
    """One matching. What has found its partner takes no further part."""

    def __init__(self, known: Sequence[KnownSite], results: Sequence[Result]) -> None:
        self._sites = {site.site_id: site for site in sorted(known, key=lambda site: site.site_id)}
        self._paths_known = frozenset(site.path for site in known)
        self._all = results
        self._results = dict(enumerate(results))
        self._found: dict[int, Match] = {}
        self._codes: Mapping[int, str] = {}
        self._between_paths: Counter[tuple[str, str]] = Counter()

    def answers(self) -> list[Match]:
        """Return a match for each result."""
        return [
            self._found.get(index) or Match(index, None, MatchPass.NEW) for index in range(len(self._all))
        ]

    def match_fingerprints(self) -> None:
        """Pair what has the same anchor in the same item; in the same file first."""
        present = {key for result in self._all for key in result.partial_fingerprints}
        self._match_twins()
        for key in sorted((key for key in present if key.startswith(SITE_KEYS)), reverse=True):
            for with_path in (True, False):
                same = partial(_fingerprint, key=key, with_path=with_path)
                self._pair(MatchPass.FINGERPRINT, list(self._sites.values()), same)

    def match_edited(self, code_of: CodeOf | None) -> None:
        """Pair what was edited, spelled anew, moved or renamed, by ever looser keys."""
        sites = [site for site in self._sites.values() if site.may_have_changed]
        if not sites or not self._results:
            return
        if code_of is not None:
            self._codes = code_of([site.site_id for site in sites])
        for key in (_item_in_file, _item):
            self._pair(MatchPass.SAME_ITEM, sites, key, at_least=_SIMILAR)
        for key in (_named_item_in_file, _item):
            self._pair(MatchPass.SAME_ITEM, sites, key)
        for key in (_family_in_file, _family):
            self._pair(MatchPass.RESPELLED, sites, key)
        self._pair(MatchPass.MOVED, sites, _tail, at_least=_SAME)
        self._pair(MatchPass.MOVED, sites, _tail, at_least=_SIMILAR)
        self._pair(MatchPass.SAME_BODY, sites, partial(_fingerprint, key=BODY_KEY, with_path=False))
        # A file that took another name and does not parse there may show another side of what stood in it.
        left = [site for site in sites if site.file_is_gone]
        self._pair(MatchPass.RESPELLED, left, self._family_in_new_file)
        self._pair(MatchPass.SAME_BODY, sites, self._telling_code)
        self._pair(MatchPass.SAME_BODY, sites, self._telling_file, at_least=_SAME_CODE)
        self._pair_renamed(sites)

    def _pair_renamed(self, sites: Iterable[KnownSite]) -> None:
        """Pair what is left alone in a file: its item took another name and was edited at once.

        That is a guess, which a person is shown; who shows nobody does not say which items are gone.
        """
        left = _grouped((site for site in sites if site.site_id in self._sites), _rule_in_file)
        results = _grouped(self._results.values(), _rule_in_file)
        indexes = {_rule_in_file(result): index for index, result in self._results.items()}
        for key, [site, *others] in left.items():
            found = results.get(key, [])
            if others or len(found) != 1 or not site.item_is_gone or site.rule_id not in _FAMILY_OF:
                continue
            if _similarity(self._words_of(site), self._words_of(found[0])) >= _SIMILAR:
                self._take(indexes[key], site.site_id, MatchPass.NEAREST)

    def match_returned(self) -> None:
        """Pair what comes back as it was, after its file took another name."""
        gone = [site for site in self._sites.values() if site.may_return]
        self._pair(MatchPass.SAME_BODY, gone, partial(_fingerprint, key=BODY_KEY, with_path=False))

    def _family_in_new_file(self, one: KnownSite | Result) -> Hashable | None:
        family, tail = _FAMILY_OF.get(one.rule_id), _tail(one)
        is_new = isinstance(one, KnownSite) or one.path not in self._paths_known
        return (family, *tail[1:]) if family is not None and tail is not None and is_new else None

    def _telling_code(self, one: KnownSite | Result) -> Hashable | None:
        return (one.rule_id, self._words_of(one)) if self._is_telling(one) else None

    def _telling_file(self, one: KnownSite | Result) -> Hashable | None:
        return (one.rule_id, one.path) if self._is_telling(one) else None

    def _is_telling(self, one: KnownSite | Result) -> bool:
        """Say whether code is known again by itself: a few words are not, and a function's head is not."""
        words = self._words_of(one)
        return len(words) >= _TELLING_TOKENS and words[-1] != "{"

    def _words_of(self, one: KnownSite | Result) -> tuple[str, ...]:
        return _words(self._codes.get(one.site_id, "") if isinstance(one, KnownSite) else one.snippet)

    def _match_twins(self) -> None:
        """Pair equal anchors of one item by where they stand, where their number changed."""
        sites = _grouped(self._sites.values(), partial(_fingerprint, key=ANCHOR_KEY, with_path=True))
        results: dict[Hashable, list[int]] = defaultdict(list)
        for index, result in self._results.items():
            key = _fingerprint(result, ANCHOR_KEY, with_path=True)
            if key is not None:
                results[key].append(index)
        moved_by = self._displacements(sites, results)
        for key, indexes in results.items():
            twins = sites.get(key, [])
            if len(twins) == len(indexes) or not twins or not all(one.start_line for one in twins):
                continue
            scored = sorted(
                (
                    abs(
                        self._all[index].region.start_line
                        - site.start_line
                        - moved_by.get(site.path, {}).get(site.symbol, moved_by.get(site.path, {}).get("", 0))
                    ),
                    _place(self._all[index]),
                    site.site_id,
                    index,
                )
                for index in indexes
                for site in twins
            )
            for _, _, site_id, index in scored:
                self._take(index, site_id, MatchPass.FINGERPRINT)

    def _displacements(
        self, sites: Mapping[Hashable, list[KnownSite]], results: Mapping[Hashable, list[int]]
    ) -> dict[str, dict[str, int]]:
        """Return by how many lines what stands in a file, or in one of its items, moved: the least."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for key, indexes in results.items():
            twins = sites.get(key, [])
            if len(twins) == len(indexes) == 1 and twins[0].start_line:
                moved = self._all[indexes[0]].region.start_line - twins[0].start_line
                for symbol in (twins[0].symbol, ""):
                    found[twins[0].path].setdefault(symbol, moved)
        return found

    def _pair(
        self,
        match_pass: MatchPass,
        sites: Iterable[KnownSite],
        key_of: Callable[[KnownSite | Result], Hashable | None],
        *,
        at_least: float = 0.0,
    ) -> None:
        """Pair what has the same key: the most alike first, then by file, and then the nearest."""
        by_key = _grouped((site for site in sites if site.site_id in self._sites), key_of)
        keys = {index: key_of(result) for index, result in self._results.items()} if by_key else {}
        crowds = Counter(keys.values())
        scored = []
        for index, key in keys.items():
            result = self._results[index]
            for site in by_key.get(key, ()):
                # Among one there is nothing to choose.
                is_alone = crowds[key] == len(by_key[key]) == 1 and not at_least
                alike = 1.0 if is_alone else _similarity(self._words_of(site), self._words_of(result))
                if alike >= at_least:
                    moved = -self._between_paths[site.path, result.path]
                    far = abs(result.region.start_line - site.start_line)
                    is_guess = match_pass is MatchPass.SAME_ITEM and alike < _SIMILAR
                    named = MatchPass.NEAREST if is_guess else match_pass
                    scored.append((-alike, moved, far, _place(result), site.site_id, index, named))
        for *_, site_id, index, named in sorted(scored):
            self._take(index, site_id, named)

    def _take(self, index: int, site_id: int, match_pass: MatchPass) -> None:
        if index in self._results and site_id in self._sites:
            self._found[index] = Match(index, site_id, match_pass)
            self._between_paths[self._sites[site_id].path, self._results[index].path] += 1
            del self._results[index], self._sites[site_id]


def _grouped(
    ones: Iterable[_One], key_of: Callable[[KnownSite | Result], Hashable | None]
) -> dict[Hashable, list[_One]]:
    found: dict[Hashable, list[_One]] = defaultdict(list)
    for one in ones:
        key = key_of(one)
        if key is not None:
            found[key].append(one)
    return found


def _fingerprint(one: KnownSite | Result, key: str, *, with_path: bool) -> Hashable | None:
    value = one.partial_fingerprints.get(key)
    if not value:
        return None
    return (one.rule_id, value, one.path) if with_path else (one.rule_id, value)


def _rule_in_file(one: KnownSite | Result) -> Hashable:
    return one.rule_id, one.path


def _item_in_file(one: KnownSite | Result) -> Hashable:
    return one.rule_id, one.path, one.symbol


def _named_item_in_file(one: KnownSite | Result) -> Hashable | None:
    return _item_in_file(one) if one.symbol else None


def _item(one: KnownSite | Result) -> Hashable | None:
    return (one.rule_id, one.symbol) if one.symbol else None


def _family_in_file(one: KnownSite | Result) -> Hashable | None:
    family = _FAMILY_OF.get(one.rule_id)
    return None if family is None or not one.symbol else (family, one.path, one.symbol)


def _family(one: KnownSite | Result) -> Hashable | None:
    family = _FAMILY_OF.get(one.rule_id)
    return None if family is None or not one.symbol else (family, one.symbol)


def _tail(one: KnownSite | Result) -> tuple[str, ...] | None:
    """Return the item's path inside its module: a file that is renamed or moved takes it along."""
    *_, owner, name = "", *one.symbol.split("::")
    if not name:
        return None
    return (one.rule_id, owner, name) if owner[:1].isupper() else (one.rule_id, name)


def _place(result: Result) -> tuple[str | int, ...]:
    region = result.region
    return (result.path, region.start_line, region.start_column, result.symbol, result.form, result.message)


def _similarity(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    """Say how much of two codes is the same, from 0 to 1; 1 is for equal codes only."""
    if not ours or not theirs:
        return 0.0
    if ours == theirs:
        return _SAME
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return min(2 * shared / (len(ours) + len(theirs)), _ALMOST)


@lru_cache(maxsize=4096)
def _words(code: str) -> tuple[str, ...]:
    """Return what code is compared by: its tokens; of a result that is a comment, the comment's words."""
    return tuple(tokens(code).split()) or tuple(_COMMENT_WORD.findall(code))

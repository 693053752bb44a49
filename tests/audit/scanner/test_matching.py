"""Recognising sites, for all inputs."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.matching import KnownSite, MatchPass, match_results
from audit.scanner.report import Level, Region, Result

_small = st.sampled_from(["a", "b", "c"])


@st.composite
def results(draw: st.DrawFn) -> Result:
    return Result(
        rule_id=draw(st.sampled_from(["FT001", "FT002"])),
        level=Level.ERROR,
        message="",
        path=draw(_small),
        region=Region(draw(st.integers(1, 5)), 1, 9, 1),
        symbol=draw(st.sampled_from(["", "x", "y"])),
        crate="",
        form="",
        partial_fingerprints={"site/v1": draw(_small)},
        evidence=(),
        snippet="",
    )


@st.composite
def known_sites(draw: st.DrawFn) -> list[KnownSite]:
    places = draw(st.lists(results(), max_size=8))
    return [
        KnownSite(
            number, place.rule_id, place.symbol, place.path, place.partial_fingerprints, draw(st.booleans())
        )
        for number, place in enumerate(places, 1)
    ]


def test_nothing_known_makes_everything_new() -> None:
    assert match_results([], []) == []


@given(known_sites(), st.lists(results(), max_size=8))
def test_each_result_gets_one_answer_and_no_site_two_results(
    known: list[KnownSite], found: list[Result]
) -> None:
    matches = match_results(known, found)
    assert [match.result for match in matches] == list(range(len(found)))
    taken = [match.site_id for match in matches if match.site_id is not None]
    assert len(taken) == len(set(taken))


@given(known_sites(), st.lists(results(), max_size=8))
def test_a_site_is_only_recognised_in_a_result_of_its_rule(
    known: list[KnownSite], found: list[Result]
) -> None:
    rules = {site.site_id: site.rule_id for site in known}
    for match in match_results(known, found):
        if match.site_id is not None:
            assert rules[match.site_id] == found[match.result].rule_id


@given(known_sites(), st.lists(results(), max_size=8), st.randoms())
def test_the_order_of_the_results_decides_nothing(
    known: list[KnownSite], found: list[Result], random: Random
) -> None:
    def by_place(places: list[Result]) -> list[tuple[object, ...]]:
        matches = match_results(known, places)
        return sorted(
            (places[m.result].path, places[m.result].region.start_line, str(places[m.result]), str(m.site_id))
            for m in matches
        )

    shuffled = list(found)
    random.shuffle(shuffled)
    assert len(by_place(shuffled)) == len(by_place(found))
    unique = {str(result) for result in found}
    if len(unique) == len(found):
        assert by_place(shuffled) == by_place(found)


@given(
    st.lists(
        results(), max_size=8, unique_by=lambda result: (result.rule_id, str(result.partial_fingerprints))
    )
)
def test_the_same_code_again_is_recognised_whole(found: list[Result]) -> None:
    known = [
        KnownSite(number, result.rule_id, result.symbol, result.path, result.partial_fingerprints, True)
        for number, result in enumerate(found, 1)
    ]
    matches = match_results(known, found)
    assert [match.site_id for match in matches] == list(range(1, len(found) + 1))
    assert {match.match_pass for match in matches} <= {MatchPass.FINGERPRINT}

"""Recognising sites, for all inputs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.matching import FAMILIES, KnownSite, MatchPass, match_results
from audit.scanner.report import Level, Region, Result

_small = st.sampled_from(["a", "b", "c"])


@st.composite
def results(draw: st.DrawFn) -> Result:
    return Result(
        rule_id=draw(st.sampled_from(["FT001", "FT002", "FT012"])),
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
def test_a_site_is_only_recognised_in_a_result_of_its_rule_or_family(
    known: list[KnownSite], found: list[Result]
) -> None:
    rules = {site.site_id: site.rule_id for site in known}
    for match in match_results(known, found):
        if match.site_id is not None:
            pair = {rules[match.site_id], found[match.result].rule_id}
            assert len(pair) == 1 or any(pair <= family for family in FAMILIES)


def test_a_fallback_that_is_spelled_anew_is_the_same_site() -> None:
    [known, found] = (place("FT005", "erf", 3), place("FT011", "erf", 40))
    [match] = match_results([known_as(1, known)], [found])
    assert (match.site_id, match.match_pass) == (1, MatchPass.RESPELLED)


def test_another_cause_in_the_same_item_is_another_site() -> None:
    [match] = match_results([known_as(1, place("FT005", "erf", 3))], [place("FT012", "erf", 3)])
    assert match.site_id is None


def test_what_the_scan_could_not_look_at_is_not_the_earlier_form_of_anything() -> None:
    unseen = replace(known_as(1, place("FT005", "erf", 3)), may_have_changed=False)
    [match] = match_results([unseen], [place("FT005", "erf", 3, anchor="other")])
    assert match.match_pass is MatchPass.NEW


def test_of_two_equal_places_the_one_that_stands_is_kept() -> None:
    twins = [place("FT001", "f", 10), place("FT001", "f", 30, order=1)]
    above = place("FT001", "e", 5, anchor="above")
    known = [known_as(number, one) for number, one in enumerate((above, *twins), 1)]
    moved = place("FT001", "e", 7, anchor="above")
    [_, match] = match_results(known, [moved, place("FT001", "f", 28)])
    assert (match.site_id, match.match_pass) == (3, MatchPass.FINGERPRINT)


def test_several_edited_places_of_one_item_are_paired_by_nearness_and_said_to_be_guesses() -> None:
    known = [known_as(number, place("FT001", "f", line, f"a{line}")) for number, line in ((1, 10), (2, 50))]
    matches = match_results(known, [place("FT001", "f", 52, "x"), place("FT001", "f", 12, "y")])
    assert [match.site_id for match in matches] == [2, 1]
    assert {match.match_pass for match in matches} == {MatchPass.NEAREST}
    assert all(match.confidence < 0.9 for match in matches)


def test_the_head_of_a_function_says_nothing_of_its_body() -> None:
    head = "fn backward(&self, grad_output: &Tensor<T>) -> FerrotorchResult<Vec<Option<Tensor<T>>>> {"
    then, now = place("FT009", "A::backward", 3, head), place("FT009", "B::backward", 3, head)
    [match] = match_results([known_as(1, then)], [now], lambda wanted: {1: head})
    assert match.site_id is None


@given(st.sampled_from(["//", "///", "//!", "/*"]), st.lists(st.sampled_from("abcd"), min_size=1, max_size=9))
def test_a_comment_is_known_again_in_a_module_of_another_name(mark: str, words: list[str]) -> None:
    comment = f"{mark} {' '.join(words)}{' */' if mark == '/*' else ''}"
    then, now = place("FT014", "codegen::Backend", 3, comment), place("FT014", "moved::Backend", 3, comment)
    [match] = match_results([known_as(1, then)], [now], lambda wanted: {1: comment})
    assert (match.site_id, match.match_pass) == (1, MatchPass.MOVED)


def test_another_comment_in_a_module_of_another_name_is_another_site() -> None:
    then, now = (
        place("FT014", "codegen::Backend", 3, "// runs on the interpreter"),
        place("FT014", "moved::Backend", 3, "// no kernel for strided inputs yet"),
    )
    [match] = match_results([known_as(1, then)], [now], lambda wanted: {1: then.snippet})
    assert match.site_id is None


def place(rule_id: str, symbol: str, line: int, anchor: str = "anchor", order: int = 0) -> Result:
    """Return a result whose fingerprints are made of rule, symbol, anchor and order."""
    keys = {"site/v1": f"{rule_id} {symbol} {anchor} {order}", "anchor/v1": f"{rule_id} {symbol} {anchor}"}
    region = Region(line, 1, line, 9)
    return Result(rule_id, Level.ERROR, "", "a.rs", region, symbol, "", "", keys, (), anchor)


def known_as(site_id: int, result: Result) -> KnownSite:
    return KnownSite(
        site_id,
        result.rule_id,
        result.symbol,
        result.path,
        result.partial_fingerprints,
        may_have_changed=True,
        start_line=result.region.start_line,
    )


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


def with_prints(symbol: str, **versions: str) -> Result:
    prints = {f"site/{version}": value for version, value in versions.items()}
    return Result(
        rule_id="FT001",
        level=Level.ERROR,
        message="",
        path="src/lib.rs",
        region=Region(1, 1, 2, 1),
        symbol=symbol,
        crate="",
        form="",
        partial_fingerprints=prints,
        evidence=(),
        snippet="",
    )


def as_known(one: Result) -> KnownSite:
    return KnownSite(1, one.rule_id, one.symbol, one.path, one.partial_fingerprints, may_have_changed=True)


def test_two_versions_of_a_fingerprint_live_side_by_side() -> None:
    old = with_prints("ops::relu", v1="one")
    both = with_prints("other::name", v1="one", v2="two")
    newest = with_prints("third::name", v2="two")
    for before, after in ((old, both), (both, newest)):
        [match] = match_results([as_known(before)], [after])
        assert (match.site_id, match.match_pass) == (1, MatchPass.FINGERPRINT)


def test_a_result_that_has_only_the_new_version_is_still_its_item() -> None:
    [match] = match_results(
        [as_known(with_prints("ops::relu", v1="one"))], [with_prints("ops::relu", v2="two")]
    )
    assert (match.site_id, match.match_pass is MatchPass.FINGERPRINT) == (1, False)


def test_what_another_rule_sees_in_a_file_that_took_another_name_is_the_same_site() -> None:
    before = place("FT001", "c::a::relu", 10, "one")
    torn = place("FT008", "c::b::relu", 11, "two")._replace(path="b")
    gone = replace(known_as(1, before), file_is_gone=True)
    (match,) = match_results([gone], [torn])
    assert (match.site_id, match.match_pass) == (1, MatchPass.RESPELLED)
    (stayed,) = match_results([replace(gone, file_is_gone=False)], [torn])
    assert stayed.site_id is None, "its own file tells what became of it"
    (other,) = match_results([gone, replace(known_as(2, before), symbol="c::b::exp", path="b")], [torn])
    assert other.site_id is None, "a file that was there is not the one that took another name"


def test_a_function_that_is_renamed_and_edited_at_once_is_a_guess_and_not_removed_plus_new() -> None:
    arm = "Err(_) => return cpu_relu(x),"
    before, after = (
        place("FT001", "c::a::relu", 10, arm),
        place("FT001", "c::a::relu_into", 14, arm + " // f"),
    )
    gone = replace(known_as(1, before), item_is_gone=True)
    code = {1: arm, 2: arm}

    def told(known: list[KnownSite], found: list[Result]) -> list[tuple[int | None, MatchPass]]:
        matches = match_results(known, found, lambda wanted: {key: code[key] for key in wanted})
        return [(match.site_id, match.match_pass) for match in matches]

    new = (None, MatchPass.NEW)
    assert told([gone], [after]) == [(1, MatchPass.NEAREST)]
    assert told([known_as(1, before)], [after]) == [new], "the function stands, and was mended"
    second = after._replace(symbol="c::a::gelu", partial_fingerprints={"site/v1": "other"})
    assert told([gone], [after, second]) == [new, new], "which of them it was, nobody can tell"
    assert told([gone], [after._replace(path="b.rs")]) == [new]
    assert told([gone], [after._replace(snippet="let y = x.data_vec()?;")]) == [new]

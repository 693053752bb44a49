"""A misspelt word finds what was meant, wherever in it the mistake is."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import Repository
from migrations_tracker.models import SearchWord
from migrations_tracker.search.words import NORMATIVE, SYNONYMS, compounds, tokens
from migrations_tracker.selectors.search_words import words_corrected, words_known
from tests.factories import make_repository

NAMES = ("gpulayernormbackward", "gpuscatteradd", "compile", "contiguous", "dtype", "layernorm")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def words(db: None) -> None:
    SearchWord.objects.bulk_create(SearchWord(word=name, lexeme=name) for name in (*NAMES, "layer", "norm"))


def nearest(word: str, parts: dict[str, list[str]] | None = None) -> list[str]:
    return list(words_corrected(unknown=[word], parts=parts or {}, seen=None).get(word, ()))


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_one_wrong_letter_anywhere_finds_the_word(words: None, data: st.DataObject, name: str) -> None:
    at, letter = data.draw(st.integers(0, len(name) - 1)), data.draw(st.sampled_from(LETTERS))
    for wrong in (
        name[:at] + letter + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + name[at + 1 :],
    ):
        if wrong not in (*NAMES, "layer", "norm"):
            assert name in nearest(wrong)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), name=st.sampled_from([name for name in NAMES if len(name) >= 6]))
def test_two_letters_exchanged_anywhere_find_the_word(words: None, data: st.DataObject, name: str) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    wrong = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if wrong != name:
        assert nearest(wrong)[0] == name


def test_mistakes_at_both_ends_find_the_word_too(words: None) -> None:
    assert nearest("hpulayernormbackwars") == ["gpulayernormbackward"]


def test_a_name_is_put_right_by_its_parts(words: None) -> None:
    SearchWord.objects.create(word="gpulayernormgelutanhf64", lexeme="gpulayernormgelutanhf64")
    SearchWord.objects.bulk_create(SearchWord(word=one, lexeme=one) for one in ("gelu", "tanh", "f64"))
    asked = "gpu_laier_norn_geli_tanj_f64"
    parts = compounds(asked)
    (whole,) = parts
    found = words_corrected(unknown=["laier", "norn", "geli", "tanj", whole], parts=parts, seen=None)
    assert list(found[whole]) == ["gpulayernormgelutanhf64"]
    assert list(found["laier"]) == ["layer"]


def test_a_word_too_short_and_one_without_meaning_are_no_corrections(words: None) -> None:
    SearchWord.objects.create(word="from", lexeme="")
    assert nearest("frm") == []
    assert nearest("l") == []


def test_a_word_is_known_by_itself_by_its_stem_and_where_it_is_seen(words: None) -> None:
    repository = make_repository()
    SearchWord.objects.create(word="kernels", lexeme="kernel", repository=repository)
    lexemes = {"kernel": "kernel", "layers": "layer", "nowhere": "nowher", "f": "f"}
    assert words_known(lexemes=lexemes, seen=None) == {"kernel", "layers", "f"}
    assert words_known(lexemes=lexemes, seen=()) == {"layers", "f"}
    assert words_known(lexemes=lexemes, seen=(repository.pk,)) == {"kernel", "layers", "f"}


def test_words_of_a_repository_go_with_it(words: None) -> None:
    repository = make_repository()
    SearchWord.objects.create(word="kernels", lexeme="kernel", repository=repository)
    Repository.objects.all().delete()
    assert not SearchWord.objects.filter(word="kernels").exists()


def test_synonyms_are_words_as_they_are_asked_for_and_none_of_itself() -> None:
    for word, others in SYNONYMS.items():
        assert [*tokens(word)] == [word]
        assert others
        assert word not in others
        assert all([*tokens(other)] == [other] for other in others)
    assert all(word == word.lower() for word in NORMATIVE)

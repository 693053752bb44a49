"""Profiles: the ones that come with the scanner load, a bad one is refused with file, key and reason."""

from __future__ import annotations

from importlib.resources import files

import pytest

from audit.scanner.profile import ProfileError, load_profile, parse_profile, profile_names

TEXT = files("audit.scanner").joinpath("profiles", "ferrotorch.toml").read_text("utf-8")


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_loads(name: str) -> None:
    assert load_profile(name).name == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "mine.toml: not TOML"),
        (TEXT.replace('name = "ferrotorch"', ""), "mine.toml: `name` must be a text"),
        (TEXT.replace("[gate]", "[gates]"), "mine.toml: `gates` is no key"),
        (TEXT.replace("compile_calls", "compiles"), "mine.toml: `launch.compiles` is no key"),
        (
            TEXT.replace('optimizer_traits = ["Optimizer"]', ""),
            "mine.toml: `autograd.optimizer_traits` is missing",
        ),
        (TEXT.replace('optimizer_traits = ["Optimizer"]', "optimizer_traits = 3"), "must be a list of texts"),
        (TEXT.replace('"ENABLE_GPU_FALLBACK"', '"("'), "`gate.environment_patterns`: `(` is no pattern"),
    ],
)
def test_a_bad_profile_is_refused_with_its_key(text: str, reason: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, "mine.toml")
    assert reason in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="ferrotorch"):
        load_profile("nothing")


def test_two_texts_have_two_digests() -> None:
    assert parse_profile(TEXT, "a").digest != parse_profile(TEXT + "\n# more\n", "a").digest

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
        ("name = " + "[" * 10_000, "mine.toml: not TOML: nested too deeply"),
        (TEXT.replace('name = "ferrotorch"', ""), "mine.toml: `name` must be a text"),
        (TEXT.replace("[gate]", "[gates]"), "mine.toml: `gates` is no key"),
        ('name = "mine"\n', "mine.toml: `device.predicates` is missing"),
        ('name = "mine"\ndevice = 3\n', "mine.toml: `device` must be a table"),
        ('name = "mine"\nextends = "nothing"\n', "mine.toml: `extends` must name one of burn, "),
        ('name = "mine"\nextends = ["candle"]\n', "mine.toml: `extends` must name one of burn, "),
        (
            TEXT.replace("functions = []", 'functions = ["..."]'),
            "mine.toml: `gate.functions`: there is nothing",
        ),
        (TEXT.replace("compile_calls", "compiles"), "mine.toml: `launch.compiles` is no key"),
        (
            TEXT.replace('optimizer_traits = ["Optimizer"]', ""),
            "mine.toml: `autograd.optimizer_traits` is missing",
        ),
        (TEXT.replace('optimizer_traits = ["Optimizer"]', "optimizer_traits = 3"), "must be a list of texts"),
        (TEXT.replace('"ENABLE_GPU_FALLBACK"', '"("'), "`gate.environment_patterns`: `(` is no pattern"),
        (TEXT.replace('"ENABLE_GPU_FALLBACK"', '"(?i)fallback"'), "`(?i)fallback` is no pattern"),
        (
            TEXT.replace('"ENABLE_GPU_FALLBACK"', '"(?P<a>x)", "(?P<a>y)"'),
            "`gate.environment_patterns`: the list as a whole is no pattern",
        ),
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


def test_a_list_that_is_given_replaces_the_one_of_the_extended_profile() -> None:
    base = load_profile("cudarc")
    mine = parse_profile(
        'name = "mine"\nextends = "cudarc"\n[transfer]\ndownload_methods = ["fetch"]\n', "mine.toml"
    )
    assert mine.transfer.download_methods == ("fetch",)
    assert mine.transfer.upload_methods == base.transfer.upload_methods
    assert mine.launch == base.launch


def test_dots_stand_for_what_the_extended_profile_has() -> None:
    base = load_profile("cudarc")
    mine = parse_profile(
        'name = "mine"\nextends = "cudarc"\n[transfer]\ndownload_methods = ["fetch", "..."]\n', "mine.toml"
    )
    assert mine.transfer.download_methods == ("fetch", *base.transfer.download_methods)


def test_the_digest_covers_what_is_extended() -> None:
    text = '\nname = "mine"\n'
    over = {name: parse_profile(f'extends = "{name}"{text}', "mine.toml").digest for name in profile_names()}
    assert len(set(over.values())) == len(over)


def test_the_generic_profile_says_of_no_tensor_that_it_lives_on_a_device() -> None:
    generic = load_profile("generic")
    assert generic.device.tensor_types == generic.launch.backend_traits == generic.gpu.core_crates == ()


@pytest.mark.parametrize("name", ["to", "cpu", "cuda", "data", "item", "to_host", "download", "to_device"])
def test_a_name_that_other_code_has_too_is_no_transfer_of_the_generic_profile(name: str) -> None:
    generic = load_profile("generic")
    assert name not in generic.downloads | generic.uploads


@pytest.mark.parametrize("path", ["src/gpu.rs", "src/gpu/mod.rs", "src/gpu_kept/mod.rs", "src/gpu_kept.rs"])
def test_a_module_named_after_the_device_is_gpu_code_as_a_file_and_as_a_folder(path: str) -> None:
    assert load_profile().is_gpu_file("ferrotorch-llama", f"ferrotorch-llama/{path}")
    assert not load_profile().is_gpu_file("ferrotorch-llama", "ferrotorch-llama/src/model.rs")

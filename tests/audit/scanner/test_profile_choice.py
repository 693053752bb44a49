"""Which profile a tree gets: by what it holds, then by what it depends on, unless one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.scanner.link.cargo import parse_packages
from audit.scanner.profile import GENERIC_PROFILE, ProfileError, profile_names
from audit.scanner.profile_choice import FAMILIES, choose_profile, profile_for
from audit.scanner.source.memory import MemorySource


def _manifest(name: str, *dependencies: str) -> str:
    return f'[package]\nname = "{name}"\n[dependencies]\n' + "\n".join(dependencies) + "\n"


def _chosen(manifests: dict[str, str]) -> tuple[str, str]:
    packages, failed = parse_packages({path: text.encode() for path, text in manifests.items()})
    assert not failed
    return choose_profile(packages)


@pytest.mark.parametrize(
    ("dependency", "profile"),
    [
        ("ferrotorch-core = '1'", "ferrotorch"),
        ("candle-core = '1'", "candle"),
        ("burn = '1'", "burn"),
        ("cubecl = '1'", "burn"),
        ("cudarc = '1'", "cudarc"),
        ("wgpu = '1'", "wgpu"),
        ("risc0-zkp = '1'", "risc0"),
        ("serde = '1'", "generic"),
    ],
)
def test_a_dependency_decides(dependency: str, profile: str) -> None:
    name, reason = _chosen({"Cargo.toml": _manifest("mine", dependency)})
    assert name == profile
    assert (f"`mine` depends on `{dependency.split(' ')[0]}`" in reason) is (profile != "generic")


def test_what_is_built_on_candle_is_of_its_family_though_it_uses_cudarc_too() -> None:
    assert _chosen({"Cargo.toml": _manifest("mine", "cudarc = '1'", "candle-core = '1'")})[0] == "candle"


def test_a_workspace_s_own_package_goes_before_a_dependency() -> None:
    manifests = {
        "burn-core/Cargo.toml": _manifest("burn-core"),
        "burn-candle/Cargo.toml": _manifest("burn-candle", "candle-core = '1'"),
    }
    assert _chosen(manifests) == ("burn", "it holds the package `burn-core`")


def test_a_renamed_dependency_counts_by_its_real_name() -> None:
    manifest = _manifest("mine", "candle = { package = 'candle-core', version = '1' }")
    assert _chosen({"Cargo.toml": manifest})[0] == "candle"


def test_a_dependency_that_the_workspace_renames_counts_by_its_real_name() -> None:
    manifests = {
        "Cargo.toml": "[workspace]\nmembers = ['mine']\n"
        "[workspace.dependencies]\ncandle = { package = 'candle-core', version = '1' }\n",
        "mine/Cargo.toml": _manifest("mine", "candle.workspace = true"),
    }
    assert _chosen(manifests)[0] == "candle"


def test_a_dependency_of_one_platform_counts() -> None:
    manifest = "[package]\nname = 'mine'\n[target.'cfg(unix)'.dependencies]\ncudarc = '1'\n"
    assert _chosen({"Cargo.toml": manifest})[0] == "cudarc"


def test_what_only_tests_need_does_not_count() -> None:
    manifest = "[package]\nname = 'mine'\n[dev-dependencies]\ncandle-core = '1'\n"
    assert _chosen({"Cargo.toml": manifest})[0] == GENERIC_PROFILE


def test_an_example_does_not_outvote_the_library() -> None:
    manifests = {
        "Cargo.toml": _manifest("mine", "cudarc = '1'"),
        "examples/with_candle/Cargo.toml": _manifest("with-candle", "candle-core = '1'"),
    }
    assert _chosen(manifests)[0] == "cudarc"


def test_an_example_decides_where_nothing_else_does() -> None:
    manifests = {
        "Cargo.toml": _manifest("mine"),
        "examples/with_candle/Cargo.toml": _manifest("with-candle", "candle-core = '1'"),
    }
    assert _chosen(manifests)[0] == "candle"


def test_without_a_manifest_the_default_is_taken_and_said() -> None:
    chosen = profile_for(MemorySource({"lib.rs": b"fn f() {}\n"}))
    assert chosen.profile.name == "ferrotorch"
    assert "no Cargo.toml" in chosen.reason


def test_a_named_profile_goes_before_the_choice() -> None:
    source = MemorySource({"Cargo.toml": _manifest("mine", "wgpu = '1'").encode(), "lib.rs": b""})
    assert profile_for(source).profile.name == "wgpu"
    assert profile_for(source, "candle").profile.name == "candle"


def test_a_named_file_is_loaded(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('name = "mine"\nextends = "cudarc"\n', encoding="utf-8")
    assert profile_for(MemorySource({}), own).profile.name == "mine"
    own.write_text("extends = 3\n", encoding="utf-8")
    with pytest.raises(ProfileError, match=r"mine\.toml"):
        profile_for(MemorySource({}), str(own))


def test_every_family_has_a_profile_and_every_profile_a_way_to_be_chosen() -> None:
    assert {family.profile for family in FAMILIES} | {GENERIC_PROFILE} == set(profile_names())

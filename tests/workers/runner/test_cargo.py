"""How a repository's own build settings become those of a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.runner.cargo import BuildError, check_out, chosen_rustflags, is_package_of


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".cargo").mkdir()
    return tmp_path


def configured(workspace: Path, text: str) -> Path:
    (workspace / ".cargo" / "config.toml").write_text(text)
    return workspace


def test_a_native_target_cpu_is_left_out_and_told(workspace: Path) -> None:
    text = (
        '[target.\'cfg(target_arch = "x86_64")\']\nrustflags = ["-C", "target-cpu=native", "-C", "lto=off"]\n'
    )
    kept, dropped = chosen_rustflags(configured(workspace, text), None)
    assert kept == ["-C", "lto=off"]
    assert dropped == ["-C target-cpu=native"]


@pytest.mark.parametrize("spelling", ["-Ctarget-cpu=native", "-C target-cpu=native"])
def test_every_spelling_of_it_is_left_out(workspace: Path, spelling: str) -> None:
    kept, dropped = chosen_rustflags(configured(workspace, f'[build]\nrustflags = "{spelling}"\n'), None)
    assert kept == [] and dropped == [spelling]


def test_a_named_target_cpu_stays_unless_the_job_names_another(workspace: Path) -> None:
    configured(workspace, '[build]\nrustflags = ["-C", "target-cpu=x86-64-v3"]\n')
    assert chosen_rustflags(workspace, None) == (["-C", "target-cpu=x86-64-v3"], [])
    kept, dropped = chosen_rustflags(workspace, "x86-64-v2")
    assert kept == ["-C", "target-cpu=x86-64-v2"] and dropped == ["-C target-cpu=x86-64-v3"]


def test_without_a_configuration_there_are_no_flags(tmp_path: Path) -> None:
    assert chosen_rustflags(tmp_path, None) == ([], [])


@pytest.mark.parametrize(
    ("package_id", "is_of"),
    [
        ("path+file:///w/my-gpu#0.1.0", True),
        ("path+file:///w/folder#my-gpu@0.1.0", True),
        ("my-gpu 0.1.0 (path+file:///w/my-gpu)", True),
        ("path+file:///w/other#0.1.0", False),
        ("path+file:///w/my-gpu#other@0.1.0", False),
        ("registry+https://example.org/index#my-gpu-core@1.0.0", False),
    ],
)
def test_a_package_id_names_its_crate_in_each_of_cargos_forms(package_id: str, is_of: bool) -> None:
    assert is_package_of(package_id, "my-gpu") is is_of


def test_a_commit_that_is_not_there_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="git"):
        check_out(tmp_path, "0" * 40, tmp_path / "out")

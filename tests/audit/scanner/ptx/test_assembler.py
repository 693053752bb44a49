"""The assembler's answers are told apart, and kept by text, version and target."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.ptx.assembly import Assembled

GOOD = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nop() { ret; }\n"
BROKEN = GOOD.replace("ret;", "rte;")


@pytest.fixture
def assembler(tmp_path: Path) -> Assembler:
    found = find_assembler(cache=tmp_path / "cache", jobs=2)
    assert found is not None, "the extra `ptx` brings the assembler"
    return found


def _program(folder: Path, body: str) -> Path:
    """Write a program that answers `--version` like ptxas and else runs the body."""
    program = folder / "ptxas"
    head = '#!/bin/sh\nif [ "$1" = --version ]; then echo "release 1.2, V1.2.3"; exit 0; fi\n'
    program.write_text(head + body)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_good_and_broken_texts_are_told_apart_for_each_target(assembler: Assembler) -> None:
    answers = assembler.assemble_all([GOOD, BROKEN, GOOD], ["sm_80", "sm_90"])
    assert {key: one.status for key, one in answers.items()} == {
        (GOOD, "sm_80"): Assembled.ACCEPTED,
        (GOOD, "sm_90"): Assembled.ACCEPTED,
        (BROKEN, "sm_80"): Assembled.REJECTED,
        (BROKEN, "sm_90"): Assembled.REJECTED,
    }


def test_the_first_error_names_line_and_cause(assembler: Assembler) -> None:
    error = assembler.assemble(BROKEN, "sm_80").first_error
    assert error.startswith("line 4: ")
    assert "rte" in error


def test_a_target_that_the_assembler_does_not_know_says_nothing_about_the_text(assembler: Assembler) -> None:
    assert assembler.assemble(GOOD, "sm_20").status is Assembled.UNKNOWN_TARGET


def test_an_answer_is_kept_by_text_version_and_target(tmp_path: Path) -> None:
    counting = _program(tmp_path, f'cat >/dev/null\necho x >>"{tmp_path}/runs"\nexit 0\n')
    for _ in range(2):
        assembler = Assembler(counting, cache=tmp_path / "cache")
        assembler.assemble(GOOD, "sm_80")
    assembler.assemble(GOOD, "sm_90")
    assert (tmp_path / "runs").read_text().count("x") == 2
    assert (tmp_path / "cache" / "ptx" / "1.2.3" / "sm_80").is_dir()


def test_a_program_that_answers_with_bytes_that_are_no_text_is_no_assembler(tmp_path: Path) -> None:
    program = tmp_path / "ptxas"
    program.write_text("#!/bin/sh\nprintf '\\377'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert Assembler(program).version == ""


@pytest.mark.parametrize("body", ["kill -9 $$\n", "exit 1\n"])
def test_an_assembler_that_breaks_down_rejects_nothing_and_keeps_nothing(tmp_path: Path, body: str) -> None:
    assembler = Assembler(_program(tmp_path, body), cache=tmp_path / "cache")
    assert assembler.assemble(GOOD, "sm_80").status is Assembled.FAILED
    assert not (tmp_path / "cache").exists()


def test_a_damaged_cache_entry_is_assembled_again(assembler: Assembler, tmp_path: Path) -> None:
    assembler.assemble(GOOD, "sm_80")
    kept = next(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    kept.write_text("nonsense")
    assert assembler.assemble(GOOD, "sm_80").status is Assembled.ACCEPTED

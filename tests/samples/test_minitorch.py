"""The sample workspace: a scan flags exactly its marked lines, and cargo accepts it."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.report import FileStatus, ScanReport
from audit.scanner.source.memory import MemorySource
from tests.samples.markers import MINITORCH, MarkerError, Place, Sample, read_sample
from tests.toolchain import rust_program

RULE_IDS = tuple(f"FT{number:03}" for number in range(1, 19))
REGISTERED = {rule.id for rule in RULES}
FORMS_AT_LEAST = 4
# Rules without a site in the project that the labels come from: here they need more.
MORE_FORMS_AT_LEAST = dict.fromkeys(("FT004", "FT009", "FT013", "FT015", "FT017", "FT018"), 6)


@cache
def _sample() -> Sample:
    return read_sample()


@cache
def _report() -> ScanReport:
    source = MemorySource(_sample().files, "minitorch")
    return scan(source, profile=load_profile(), rules=RULES, assembler=find_assembler())


def _found(rule_id: str) -> set[Place]:
    return {
        Place(result.path, result.region.start_line, rule_id)
        for result in _report().results
        if result.rule_id == rule_id
    }


def _diff(rule_id: str) -> list[str]:
    expected = {place for place in _sample().flagged if place.rule_id == rule_id}
    found = _found(rule_id)
    lines = []
    for place in sorted(expected ^ found):
        sign = "-" if place in expected else "!" if place in _sample().allowed else "+"
        lines.append(f"{sign} {place.path}:{place.line} {_sample().source_line(place)}")
    return lines


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_a_rule_flags_exactly_its_marked_lines(rule_id: str) -> None:
    if rule_id not in REGISTERED:
        pytest.skip(f"{rule_id} is not in the registry yet")
    diff = _diff(rule_id)
    assert not diff, "\n".join(
        [f"{rule_id}: - marked and not flagged, + flagged and not marked, ! flagged and marked ok", *diff]
    )


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_a_rule_has_marked_lines_of_both_kinds(rule_id: str) -> None:
    wanted = MORE_FORMS_AT_LEAST.get(rule_id, FORMS_AT_LEAST)
    assert sum(place.rule_id == rule_id for place in _sample().flagged) >= wanted
    assert sum(place.rule_id == rule_id for place in _sample().allowed) >= wanted


def test_no_line_is_both_flagged_and_allowed_by_a_rule() -> None:
    assert _sample().flagged & _sample().allowed == frozenset()


def test_every_file_of_the_sample_parses() -> None:
    assert [
        (entry.path, entry.status, entry.reason)
        for entry in _report().manifest
        if entry.status is not FileStatus.SCANNED
    ] == []


@pytest.mark.parametrize("mark", ["FT1", "ok FT001", "ok FT001:", "FT001 FT002", ""])
def test_a_marker_that_says_nothing_is_refused(tmp_path: Path, mark: str) -> None:
    (tmp_path / "lib.rs").write_text(f"fn f() {{}} //~ {mark}\n", "utf-8")
    with pytest.raises(MarkerError, match=r"lib\.rs:1"):
        read_sample(tmp_path)


FEATURES = (
    (),
    ("--no-default-features",),
    ("--features", "minitorch-gpu/tensor-cores,minitorch-distributed/nccl"),
)


@pytest.mark.parametrize("features", FEATURES, ids=lambda features: " ".join(features) or "default")
def test_cargo_accepts_the_workspace(tmp_path: Path, features: tuple[str, ...]) -> None:
    cargo = rust_program("cargo")
    if cargo is None:
        pytest.skip("no cargo that works is on the PATH: nothing shows that the sample compiles")
    copy = tmp_path / "minitorch"
    shutil.copytree(MINITORCH, copy, ignore=shutil.ignore_patterns("target"))
    done = subprocess.run(
        [cargo, "check", "--offline", "--workspace", "--all-targets", *features],
        cwd=copy,
        env={**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target"), "CARGO_TERM_COLOR": "never"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr

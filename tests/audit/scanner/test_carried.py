"""What is carried from commit to commit never shows in a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.rules import RULES
from audit.scanner.carried import Carried
from audit.scanner.extract.facts import Call, CallKind, FileFacts
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import ScanReport
from audit.scanner.source.memory import MemorySource
from tests.audit.scanner.history_fixture import EDITS, HELPERS, Files, edited, first_commit


class Counting:
    """A cache of facts that tells what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._facts: dict[str, FileFacts] = {}

    def get(self, blob_id: str) -> FileFacts | None:
        self.asked.append(blob_id)
        return self._facts.get(blob_id)

    def put(self, blob_id: str, facts: FileFacts) -> None:
        self._facts[blob_id] = facts


def scanned(
    files: Mapping[str, str], cache: Counting, carried: Carried | None, profile: str = "ferrotorch"
) -> ScanReport:
    source = MemorySource({path: text.encode() for path, text in files.items()})
    report = scan(source, profile=load_profile(profile), rules=RULES, cache=cache, carried=carried)
    return replace(report, duration_seconds=0.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_over_a_history_of_edits_every_report_is_that_of_a_scan_alone(seed: int) -> None:
    random, cache, carried = Random(seed), Counting(), Carried()
    files = first_commit()
    edits: set[str] = set()
    seen: set[object] = set()
    rules: set[str] = set()
    for number in range(60):
        with_it = scanned(files, cache, carried)
        assert with_it == scanned(files, cache, None), edits
        seen.add(tuple((one.rule_id, one.symbol, one.region) for one in with_it.results))
        rules |= {result.rule_id for result in with_it.results}
        edit, files = edited(files, random, number)
        edits.add(edit)
    assert edits == {edit.__name__ for edit in EDITS}
    # A history in which nothing comes and goes would prove nothing.
    assert len(seen) > 15
    assert len(rules) > 12


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 30), steps=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_however_many_edits_lie_between_two_scans_the_report_is_that_of_a_scan_alone(
    seed: int, steps: list[int]
) -> None:
    random, cache, carried = Random(seed), Counting(), Carried()
    files = first_commit()
    scanned(files, cache, carried)
    for count in steps:
        for _ in range(count):
            _, files = edited(files, random, random.randrange(len(EDITS)))
        assert scanned(files, cache, carried) == scanned(files, cache, None)


def test_another_profile_takes_nothing_over_that_depends_on_the_profile() -> None:
    cache, carried, files = Counting(), Carried(), first_commit()
    for profile in ("ferrotorch", "cudarc", "ferrotorch", "generic"):
        assert scanned(files, cache, carried, profile) == scanned(files, cache, None, profile)


def test_facts_of_files_that_are_as_they_were_are_not_loaded_again() -> None:
    cache, carried, files = Counting(), Carried(), first_commit()
    scanned(files, cache, carried)
    cache.asked.clear()
    path = "ferrotorch-nn/src/helpers.rs"
    scanned({**files, path: files[path] + "\npub fn another() {}\n"}, cache, carried)
    assert len(cache.asked) == 1


def test_of_an_edited_body_only_the_calls_of_its_file_are_resolved_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache, carried, files = Counting(), Carried(), first_commit()
    # Files with the same text share their facts from the second scan on.
    scanned(files, cache, carried)
    scanned(files, cache, carried)
    resolved: set[str] = set()
    resolve = Resolver._resolve

    def noting(self: Resolver, function: Fn, call: Call) -> list[Fn]:
        # The calls of functions that hand others on are looked at each time, as macros are.
        is_passing = function.index in {index for index, _, _ in self.passed}
        if call.kind != CallKind.MACRO and not is_passing:
            resolved.add(function.unit.path)
        return resolve(self, function, call)

    monkeypatch.setattr(Resolver, "_resolve", noting)
    path = "ferrotorch-nn/src/layer.rs"
    scanned({**files, path: files[path].replace("let host", "let unused = 1; let host")}, cache, carried)
    assert resolved == {path}


@pytest.mark.parametrize("alias", ["", " as bring"])
def test_a_function_that_another_takes_the_place_of_is_called_no_more(alias: str) -> None:
    cache, carried = Counting(), Carried()
    files: Files = first_commit()
    called = "bring" if alias else "fetch"
    path = "ferrotorch-nn/src/calling.rs"
    files |= {
        "ferrotorch-nn/src/lib.rs": files["ferrotorch-nn/src/lib.rs"] + f"pub use helpers::fetch{alias};\n",
        path: f"pub fn forward_gpu(x: &Tensor) -> FerrotorchResult<Vec<f32>> {{ crate::{called}(x) }}\n",
    }
    helper = "ferrotorch-nn/src/helpers.rs"
    for body in HELPERS.values():
        edited_files = {**files, helper: f"use crate::Tensor;\n{body}\n"}
        assert scanned(edited_files, cache, carried) == scanned(edited_files, cache, None)


def test_a_file_that_comes_back_is_seen_again() -> None:
    cache, carried = Counting(), Carried()
    files: Files = first_commit()
    whole = scanned(files, cache, carried)
    scanned({path: text for path, text in files.items() if "sample" not in path}, cache, carried)
    assert scanned(files, cache, carried) == whole

"""What is kept of a linked workspace for the next scan never shows in a report."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.rules import RULES, dishonest_report
from audit.scanner import remembered
from audit.scanner.extract.facts import Call
from audit.scanner.link import recall
from audit.scanner.link.parts import Part, told_in
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn
from audit.scanner.link.workspace import Workspace
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.remembered import KeptWorkspaces
from audit.scanner.report import ScanReport
from audit.scanner.source.memory import MemorySource
from audit.scanner.vocabulary import Phrase
from tests.audit.scanner.history_fixture import EDITS, edited, first_commit
from tests.audit.scanner.test_carried import Counting

HELPERS = "ferrotorch-nn/src/helpers.rs"


def scanned(
    files: Mapping[str, str],
    folder: Path | None,
    cache: Counting,
    profile: str = "ferrotorch",
    jobs: int = 1,
) -> ScanReport:
    source = MemorySource({path: text.encode() for path, text in files.items()})
    report = scan(
        source,
        profile=load_profile(profile),
        rules=RULES,
        jobs=jobs,
        cache=cache,
        workspaces=KeptWorkspaces(folder) if folder is not None else None,
    )
    return replace(report, duration_seconds=0.0)


class Resolved:
    """Counts the calls that are resolved anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        original = Resolver._resolve

        def counting(resolver: Resolver, function: Fn, call: Call) -> list[Fn]:
            self.times += 1
            return original(resolver, function, call)

        monkeypatch.setattr(Resolver, "_resolve", counting)


@pytest.mark.parametrize(("seed", "jobs"), [(1, 1), (2, 2)])
def test_over_a_history_of_edits_every_report_is_that_of_a_scan_alone(
    seed: int, jobs: int, tmp_path: Path
) -> None:
    random, cache = Random(seed), Counting()
    files = first_commit()
    edits: set[str] = set()
    for number in range(60):
        assert scanned(files, tmp_path, cache, jobs=jobs) == scanned(files, None, cache), edits
        edit, files = edited(files, random, number)
        edits.add(edit)
    assert edits == {edit.__name__ for edit in EDITS}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), steps=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_however_many_edits_lie_between_two_scans_the_report_is_that_of_a_scan_alone(
    seed: int, steps: list[int], tmp_path: Path
) -> None:
    random, cache, folder = Random(seed), Counting(), tmp_path / str(seed)
    files = first_commit()
    scanned(files, folder, cache)
    for count in steps:
        for _ in range(count):
            _, files = edited(files, random, random.randrange(len(EDITS)))
        assert scanned(files, folder, cache) == scanned(files, None, cache)


def test_calls_of_files_that_are_as_they_were_are_not_resolved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, files = Counting(), first_commit()
    scanned(files, tmp_path, cache)
    resolved = Resolved(monkeypatch)
    scanned({**files, HELPERS: files[HELPERS] + "\npub fn another() {}\n"}, tmp_path, cache)
    again, resolved.times = resolved.times, 0
    scanned(files, None, cache)
    assert again < resolved.times / 4


def test_what_a_document_says_is_kept_and_looked_for_again_where_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[bytes] = []
    original = dishonest_report._phrases_in

    def looking(data: bytes) -> tuple[Phrase, ...]:
        looked.append(data)
        return original(data)

    monkeypatch.setattr(dishonest_report, "_phrases_in", looking)
    cache = Counting()
    files = {**first_commit(), "README.md": "It falls back to the CPU if the GPU fails.\n"}
    whole = scanned(files, tmp_path, cache)
    assert "README.md" in {result.path for result in whole.results}
    looked.clear()
    changed = {**files, HELPERS: files[HELPERS] + "\n"}
    assert scanned(changed, tmp_path, cache) == scanned(changed, None, cache)
    assert len(looked) == 1
    honest = {**files, "README.md": "It refuses.\n"}
    assert "README.md" not in {result.path for result in scanned(honest, tmp_path, cache).results}


def test_all_that_is_told_of_files_is_read_back(tmp_path: Path) -> None:
    scanned(first_commit(), tmp_path, Counting())
    (kept,) = tmp_path.iterdir()
    memory = KeptWorkspaces(tmp_path).get(kept.name)
    assert memory is not None
    workspace = _workspace(first_commit())
    parts = {
        path: told_in(Part(file.told, file.tables), workspace.units[path])
        for path, file in memory.files.items()
    }
    told = {name for part in parts.values() for name in part}
    assert all(parts.values())
    # Of each module that tells something of files, there is something.
    for module in (
        "comments",
        "gated",
        "passed",
        "presumed",
        "resolve",
        "dishonest_report",
        "kernel_in_core",
    ):
        assert any(module in name or "blocks" in name for name in told), module


def _workspace(files: Mapping[str, str]) -> Workspace:
    found: list[Workspace] = []
    source = MemorySource({path: text.encode() for path, text in files.items()})
    scan(
        source,
        profile=load_profile("ferrotorch"),
        rules=RULES,
        observe=lambda judgement: found.append(judgement.workspace),
    )
    return found[0]


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _nothing(data: bytes) -> bytes:
    del data
    return b""


def _other_values(data: bytes) -> bytes:
    del data
    return _with_checksum(marshal.dumps([1, "two"]))


def _hostile(data: bytes) -> bytes:
    """What makes something else of each file than what may be kept of it."""
    return _with_parts(data, pickle.dumps(_Evil()))


def _of_another_shape(data: bytes) -> bytes:
    return _with_parts(data, pickle.dumps(([1], "two", {}, {})))


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return pytest.fail, ("what was kept has run",)


def _with_parts(data: bytes, part: bytes) -> bytes:
    *rest, files = marshal.loads(data[20:])  # noqa: S302
    damaged = {path: (*one[:4], part, part) for path, one in files.items()}
    return _with_checksum(marshal.dumps((*rest, damaged)))


# The name of the file that is damaged.
_KEY = ""


def _with_checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=20, key=bytes.fromhex(_KEY)).digest() + body


@pytest.mark.parametrize("damage", [_cut, _flipped, _nothing, _other_values, _hostile, _of_another_shape])
def test_what_is_damaged_or_foreign_changes_nothing(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, cache = first_commit(), Counting()
    whole = scanned(files, tmp_path, cache)
    (kept,) = tmp_path.iterdir()
    monkeypatch.setattr(f"{__name__}._KEY", kept.name)
    kept.write_bytes(damage(kept.read_bytes()))
    assert scanned(files, tmp_path, cache) == whole
    assert scanned(files, tmp_path, cache) == whole


def test_a_file_under_the_name_of_another_is_not_read(tmp_path: Path) -> None:
    cache, files = Counting(), first_commit()
    whole = scanned(files, tmp_path, cache)
    (kept,) = tmp_path.iterdir()
    scanned(files, tmp_path, cache, "candle")
    (other,) = set(tmp_path.iterdir()) - {kept}
    kept.write_bytes(other.read_bytes())
    assert KeptWorkspaces(tmp_path).get(kept.name) is None
    assert scanned(files, tmp_path, cache) == whole


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    files, cache = first_commit(), Counting()
    assert scanned(files, blocked / "below", cache) == scanned(files, None, cache)


def test_only_the_last_workspaces_are_kept(tmp_path: Path) -> None:
    memory = recall.Memory(("", "", ""), (), (), (), (), {})
    for number in range(10):
        KeptWorkspaces(tmp_path).put(f"{number:040x}", memory)
    assert len(list(tmp_path.iterdir())) == remembered._MOST
    assert KeptWorkspaces(tmp_path).get(f"{9:040x}") == memory


def test_many_scans_with_one_change_each_do_not_make_what_is_kept_grow(tmp_path: Path) -> None:
    cache, files = Counting(), first_commit()
    scanned(files, tmp_path, cache)
    (kept,) = tmp_path.iterdir()
    size = kept.stat().st_size
    for number in range(20):
        scanned({**files, HELPERS: files[HELPERS] + f"\npub fn another_{number}() {{}}\n"}, tmp_path, cache)
    assert kept.stat().st_size < 1.5 * size


def test_what_a_copy_of_the_process_finds_out_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    original = recall.Recalled.add

    def adding(recalled: recall.Recalled, learned: Mapping[str, tuple[bytes, ...]]) -> None:
        taken.extend(learned)
        original(recalled, learned)

    monkeypatch.setattr(recall.Recalled, "add", adding)
    scanned(first_commit(), tmp_path, Counting(), jobs=2)
    assert HELPERS in taken

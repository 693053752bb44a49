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
from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.judge import Judgement
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
from tests.audit.scanner.history_fixture import CRATES, EDITS, MACRO, edited, first_commit
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
        self.files: set[str] = set()
        original = Resolver._resolve

        def counting(resolver: Resolver, function: Fn, call: Call) -> list[Fn]:
            self.times += 1
            # The calls of functions that hand others on are looked at each time, as macros are.
            is_passing = function.index in {index for index, _, _ in resolver.passed}
            if call.kind != CallKind.MACRO and not is_passing:
                self.files.add(function.unit.path)
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


@pytest.mark.parametrize("seed", range(3, 7))
def test_over_a_history_of_edits_every_call_resolves_as_without_a_memory(seed: int, tmp_path: Path) -> None:
    random, cache, files = Random(seed), Counting(), first_commit()
    remembered_calls = 0
    for _ in range(40):
        remembered_calls += _compared(files, tmp_path, cache)
        _, files = edited(files, random, random.randrange(len(EDITS)))
    # How many there are hangs on the examples that edits are drawn from; few would say that little is kept.
    assert remembered_calls > 500


def _compared(files: Mapping[str, str], folder: Path, cache: Counting) -> int:
    """Compare what each call resolves to with what it does without a memory; return how many were known."""
    known: list[tuple[Fn, ...]] = []

    def compare(judgement: Judgement) -> None:
        resolver, fresh = judgement.summaries.resolver, Resolver(judgement.workspace)
        for function in judgement.workspace.functions:
            known.extend(one for one in resolver._given.rows_of(function).values() if one)
            for call in function.facts.calls:
                assert resolver.resolve(function, call) == fresh.resolve(function, call), (function, call)
            assert resolver.types(function) == fresh.types(function), function

    scan(
        MemorySource({path: text.encode() for path, text in files.items()}),
        profile=load_profile("ferrotorch"),
        rules=RULES[:1],
        cache=cache,
        workspaces=KeptWorkspaces(folder),
        observe=compare,
    )
    return len(known)


# What is called, before and after, and a caller in another file that stays as it is.
MOVES = {
    "a cfg": (
        '#[cfg(not(feature = "cuda"))]\npub fn go() {}\n#[cfg(feature = "cuda")]\npub fn go() {}',
        '#[cfg(feature = "cuda")]\npub fn go() {}\n#[cfg(not(feature = "cuda"))]\npub fn go() {}',
        "fn call() { go(); }",
    ),
    "the type": (
        "impl One { pub fn go(&self) {} }",
        "impl Two { pub fn go(&self) {} }",
        "pub struct One; pub struct Two; fn call(x: &One) { x.go(); }",
    ),
    "the trait": (
        "impl Walks for One { fn go(&self) {} }",
        "impl Runs for One { fn go(&self) {} }",
        "trait Walks { fn stop(&self); } trait Runs { fn stop(&self); } fn call(x: &dyn Walks) { x.go(); }",
    ),
    "a field": (
        "pub struct Holder { inner: One }",
        "pub struct Holder { inner: Two }",
        "impl One { fn go(&self) {} }\nimpl Two { fn go(&self) {} }\nfn call(x: &Holder) { x.inner.go(); }",
    ),
    "the number of parameters": (
        "impl One { pub fn go(&self, x: u8) {} }",
        "impl One { pub fn go(&self) {} }",
        "fn call() { made().go(1); }",
    ),
    "self": (
        "impl One { pub fn go(&self, x: u8) {} }",
        "impl One { pub fn go(one: &One, x: u8) {} }",
        "fn call() { made().go(1); }",
    ),
    "the module": (
        "pub mod x { pub fn go() {} } pub mod y {}",
        "pub mod x {} pub mod y { pub fn go() {} }",
        "fn call() { elsewhere::x::go(); }",
    ),
    "the body": (
        "trait Walks { fn go(&self) {} }",
        "trait Walks { fn go(&self); }",
        "fn call() { made().go(); }",
    ),
    "the owner": (
        "pub fn go(x: u8) {}",
        "impl One { pub fn go(&self, x: u8) {} }",
        "fn call() { go(1); made().go(1); }",
    ),
    "a test": (
        "pub fn go() {}\npub fn go() {}",
        "#[test]\npub fn go() {}\npub fn go() {}",
        "fn call() { go(); }",
    ),
    "a twin in front": (
        "pub fn go() {}",
        "impl One { pub fn go(&self) {} }\npub fn go() {}",
        "fn call() { go(); made().go(); }",
    ),
    "what a macro makes": (
        MACRO.replace("make!(NAME);", ""),
        "macro_rules! make { ($name:ident) => { const $name: u8 = 1; }; }",
        "make!(go);\nmod inner { pub fn go(x: u8) {} }\nfn call() { go(x); }",
    ),
    "a name that a macro is given": (
        "make!(go);",
        "make!(went);",
        MACRO.replace("make!(NAME);", "mod inner { pub fn go(x: u8) {} } fn call() { go(x); }"),
    ),
}


@pytest.mark.parametrize("moved", MOVES)
def test_a_call_is_resolved_again_where_something_else_than_a_body_has_changed(
    moved: str, tmp_path: Path
) -> None:
    before, after, caller = MOVES[moved]
    cache = Counting()
    files = {
        "Cargo.toml": '[package]\nname = "one"\nversion = "0.1.0"\n[features]\ncuda = []\n',
        "src/lib.rs": "pub mod caller;\npub mod elsewhere;\n",
        "src/caller.rs": caller,
    }
    first = _answers({**files, "src/elsewhere.rs": before}, tmp_path, cache)
    again = _answers({**files, "src/elsewhere.rs": after}, tmp_path, cache)
    assert again == _answers({**files, "src/elsewhere.rs": after}, None, cache)
    assert again != first


def test_what_is_called_moves_on_in_its_file_by_a_change_of_another_name(tmp_path: Path) -> None:
    cache, last = Counting(), "mod a { pub fn go() {} }\nmod b { pub fn go() {} }"
    for text in (last, f"pub fn went() {{}}\n{last}", f"pub fn gone() {{}}\n\n{last}"):
        for number in range(2):
            files = {
                "src/lib.rs": f"pub mod caller;\npub mod elsewhere;\n// {number}\n",
                "src/caller.rs": "fn call() { crate::elsewhere::b::go(); }",
                "src/elsewhere.rs": text,
            }
            found = _answers(files, tmp_path, cache)
            assert found == _answers(files, None, cache) == [("call", "go", (("go", text.count("\n") + 1),))]


def _answers(
    files: Mapping[str, str], folder: Path | None, cache: Counting
) -> list[tuple[str, str, tuple[tuple[str, int], ...]]]:
    """Return what each call resolves to, by names and lines."""
    found: list[tuple[str, str, tuple[tuple[str, int], ...]]] = []

    def tell(judgement: Judgement) -> None:
        resolver = judgement.summaries.resolver
        for function in judgement.workspace.functions:
            for call in function.facts.calls:
                callees = tuple((one.name, one.line) for one in resolver.resolve(function, call))
                found.append((function.name, call.name, callees))

    scan(
        MemorySource({path: text.encode() for path, text in files.items()}),
        profile=load_profile("ferrotorch"),
        rules=RULES,
        cache=cache,
        workspaces=KeptWorkspaces(folder) if folder is not None else None,
        observe=tell,
    )
    return found


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
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


def test_a_change_of_bodies_has_no_call_elsewhere_resolved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, files = Counting(), first_commit()
    scanned(files, tmp_path, cache)
    resolved = Resolved(monkeypatch)
    changed = {**files, HELPERS: files[HELPERS].replace("x.data_vec()", "todo!()")}
    assert changed != files
    assert scanned(changed, tmp_path, cache) == scanned(changed, None, Counting())
    resolved.files.clear()
    again = {**files, HELPERS: files[HELPERS].replace("x.data_vec()", "x.data_vec().map(|one| one)")}
    scanned(again, tmp_path, cache)
    assert resolved.files <= {HELPERS}
    scanned(again, None, cache)
    assert len(resolved.files) > len(CRATES)


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

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from audit.scanner.cache import DirectoryCache, facts_pack, facts_unpack
from audit.scanner.extract import extract
from audit.scanner.extract.serial import FactsFormatError, dump_facts, load_facts

BLOB = "8ab686eafeb1f44702738c8b0f24f2567c36da6d"
FACTS = extract(b"fn f(x: u8) { if x.is_cuda() { g(x)?; } }\n")


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    DirectoryCache(tmp_path).put(BLOB, FACTS)
    assert DirectoryCache(tmp_path).get(BLOB) == FACTS


def test_what_was_never_put_is_absent(tmp_path: Path) -> None:
    assert DirectoryCache(tmp_path).get(BLOB) is None


@pytest.mark.parametrize("damaged", [b"", b"no facts", None])
def test_a_damaged_file_counts_as_absent_and_is_written_anew(tmp_path: Path, damaged: bytes | None) -> None:
    cache = DirectoryCache(tmp_path)
    cache.put(BLOB, FACTS)
    kept = next(path for path in tmp_path.glob("*/*/*") if path.is_file())
    kept.write_bytes(kept.read_bytes()[:-9] if damaged is None else damaged)
    assert cache.get(BLOB) is None
    cache.put(BLOB, FACTS)
    assert cache.get(BLOB) == FACTS


def test_a_folder_that_cannot_be_written_keeps_nothing_and_does_not_fail(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    cache = DirectoryCache(occupied)
    cache.put(BLOB, FACTS)
    assert cache.get(BLOB) is None


def test_facts_with_one_byte_changed_are_refused() -> None:
    written = dump_facts(FACTS)
    for position in range(0, len(written), 7):
        changed = bytearray(written)
        changed[position] ^= 1
        with pytest.raises(FactsFormatError):
            load_facts(bytes(changed))


def test_nothing_at_all_is_no_facts() -> None:
    for data in (b"", bytes(4), bytes(20)):
        with pytest.raises(FactsFormatError):
            load_facts(data)


def blob(number: int) -> str:
    return f"{number:02x}" * 20


def kept(cache: DirectoryCache, count: int = 10) -> list[int]:
    return [number for number in range(count) if cache.has(blob(number))]


def filled(folder: Path, ages_days: list[int]) -> None:
    cache = DirectoryCache(folder)
    for number, age in enumerate(ages_days):
        cache.put(blob(number), FACTS)
        (path,) = folder.glob(f"*/*/{blob(number)[2:]}")
        os.utime(path, (time.time() - age * 86_400,) * 2)


def test_facts_that_nobody_has_read_for_long_go(tmp_path: Path) -> None:
    filled(tmp_path, [1, 89, 91])
    cache = DirectoryCache(tmp_path)
    cache.clear()
    assert kept(cache) == [0, 1]


def test_beyond_the_size_the_facts_that_were_read_longest_ago_go(tmp_path: Path) -> None:
    filled(tmp_path, [3, 1, 2, 4])
    size = len(dump_facts(FACTS))
    cache = DirectoryCache(tmp_path, most_bytes=2 * size)
    cache.clear()
    assert kept(cache) == [1, 2]


def test_facts_that_are_read_are_kept_though_they_were_written_long_ago(tmp_path: Path) -> None:
    filled(tmp_path, [91, 91])
    cache = DirectoryCache(tmp_path)
    assert cache.get(blob(1)) == FACTS
    cache.clear()
    assert kept(cache) == [1]


def test_facts_of_other_versions_go_too(tmp_path: Path) -> None:
    other = tmp_path / "1-other" / "ab" / BLOB[2:]
    other.parent.mkdir(parents=True)
    other.write_bytes(b"facts")
    os.utime(other, (time.time() - 91 * 86_400,) * 2)
    DirectoryCache(tmp_path).clear()
    assert not other.exists()


def test_a_cache_that_is_written_to_is_cleared_once_a_day(tmp_path: Path) -> None:
    filled(tmp_path, [91, 91])
    DirectoryCache(tmp_path).put(blob(2), FACTS)
    assert kept(DirectoryCache(tmp_path)) == [0, 1, 2]
    os.utime(tmp_path / ".cleared", (time.time() - 2 * 86_400,) * 2)
    DirectoryCache(tmp_path).put(blob(3), FACTS)
    assert kept(DirectoryCache(tmp_path)) == [2, 3]


def test_a_long_run_clears_the_cache_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.scanner.cache._CLEARED_EVERY", 4)
    cache = DirectoryCache(tmp_path, most_bytes=0)
    for number in range(9):
        cache.put(blob(number), FACTS)
    assert kept(cache) == [8]


def test_facts_that_were_packed_are_found_again(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path)
    cache.put_packed(BLOB, facts_pack(FACTS))
    assert cache.get(BLOB) == FACTS == facts_unpack(facts_pack(FACTS))


def test_files_that_are_no_facts_stay(tmp_path: Path) -> None:
    for name in ("ptx/ab/" + BLOB[2:], "1-other/ab/notes.txt", "1-other/" + BLOB):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"something else")
        os.utime(path, (0, 0))
    DirectoryCache(tmp_path, most_bytes=0).clear()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 3

from __future__ import annotations

from pathlib import Path

import pytest

from audit.scanner.cache import DirectoryCache
from audit.scanner.extract import extract
from audit.scanner.extract.serial import FactsFormatError, dump_facts, load_facts

BLOB = "8ab686eafeb1f44702738c8b0f24f2567c36da6d"
FACTS = extract(b"fn f(x: u8) { if x.is_cuda() { g(x)?; } }\n")


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    DirectoryCache(tmp_path).put(BLOB, FACTS)
    assert DirectoryCache(tmp_path).get(BLOB) == FACTS


def test_what_was_never_put_is_absent(tmp_path: Path) -> None:
    assert DirectoryCache(tmp_path).get(BLOB) is None


@pytest.mark.parametrize("damaged", [b"", b"no zlib", None])
def test_a_damaged_file_counts_as_absent_and_is_written_anew(tmp_path: Path, damaged: bytes | None) -> None:
    cache = DirectoryCache(tmp_path)
    cache.put(BLOB, FACTS)
    kept = next(path for path in tmp_path.rglob("*") if path.is_file())
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

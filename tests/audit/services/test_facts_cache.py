"""Facts that workers share through the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.models import StoredFacts
from audit.scanner.cache import facts_version
from audit.scanner.extract import extract
from audit.services.facts_cache import SharedCache, shared_cache

pytestmark = pytest.mark.django_db

BLOB = "8ab686eafeb1f44702738c8b0f24f2567c36da6d"
FACTS = extract(b"fn f(x: u8) { if x.is_cuda() { g(x)?; } }\n")


def test_what_one_worker_parsed_is_known_to_another_on_another_machine(tmp_path: Path) -> None:
    with shared_cache(folder=tmp_path / "one") as cache:
        cache.put(BLOB, FACTS)
    other = SharedCache(tmp_path / "two")
    assert other.get(BLOB) == FACTS
    StoredFacts.objects.all().delete()
    assert SharedCache(tmp_path / "two").get(BLOB) == FACTS


def test_facts_of_another_version_are_not_read(tmp_path: Path) -> None:
    with shared_cache(folder=tmp_path / "one") as cache:
        cache.put(BLOB, FACTS)
    StoredFacts.objects.update(version=f"{facts_version()}x")
    assert SharedCache(tmp_path / "two").get(BLOB) is None


def test_damaged_facts_count_as_absent(tmp_path: Path) -> None:
    StoredFacts.objects.create(blob_id=BLOB, version=facts_version(), data=b"no facts")
    assert SharedCache(tmp_path).get(BLOB) is None


def test_two_workers_that_parse_the_same_file_keep_it_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        cache = SharedCache(tmp_path / name)
        cache.put(BLOB, FACTS)
        cache.flush()
    assert StoredFacts.objects.count() == 1


def test_facts_of_a_scan_that_broke_down_are_kept_on_its_machine_at_least(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), shared_cache(folder=tmp_path) as cache:
        cache.put(BLOB, FACTS)
        raise RuntimeError
    assert SharedCache(tmp_path).get(BLOB) == FACTS

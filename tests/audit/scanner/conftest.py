"""What all tests of the scanner stand on."""

from __future__ import annotations

import threading

import pytest


@pytest.fixture(autouse=True)
def only_threads_of_the_test_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that an earlier test left listening holds no lock that a copy needs."""
    before = set(threading.enumerate()) - {threading.current_thread()}
    monkeypatch.setattr(threading, "active_count", lambda: len(set(threading.enumerate()) - before))

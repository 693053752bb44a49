"""What runners leave at the broker is taken, and has no way into the log but as one quoted line."""

from __future__ import annotations

import logging

import pytest

from tests.workers.machines import make_runner
from workers.models import Runner
from workers.protocol.codec import canonical_bytes
from workers.protocol.report import Heartbeat, Report
from workers.services import reports
from workers.services.reports import reports_collect

pytestmark = pytest.mark.django_db


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What a runner left under its reply key."""
    found: list[bytes] = []
    monkeypatch.setattr(reports, "reports_take", lambda *, runner: found)
    make_runner()
    return found


def test_a_report_makes_no_lines_of_its_own_in_the_log(
    left: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    left.append(b'{"key\\n2026-01-01 ERROR all jobs lost\\u2028\\u001b[2J": 1}')
    with caplog.at_level(logging.WARNING, logger="workers.services.reports"):
        assert reports_collect(after=lambda *_: None) == 1
    (line,) = [record.getMessage() for record in caplog.records]
    assert "all jobs lost" in line and line.isprintable() and line.isascii()


def test_a_report_is_quoted_up_to_a_length(left: list[bytes], caplog: pytest.LogCaptureFixture) -> None:
    left.append(b'{"' + b"k" * 100_000 + b'": 1}')
    with caplog.at_level(logging.WARNING, logger="workers.services.reports"):
        reports_collect(after=lambda *_: None)
    assert len(caplog.records[0].getMessage()) < 600


def test_a_report_that_is_refused_stops_no_other(left: list[bytes]) -> None:
    left += [b"nonsense", canonical_bytes(Report(heartbeat=Heartbeat("7.7")))]
    assert reports_collect(after=lambda *_: None) == 2
    assert Runner.objects.get().version == "7.7"

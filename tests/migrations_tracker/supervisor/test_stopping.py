"""A stop that somebody asked for is neither lost nor told as a failure."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from migrations_tracker.supervisor import up
from migrations_tracker.supervisor.stopping import STOP_SIGNALS, StopRequestedError, StopSignals


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    """Listen to the stop signals as a run does, and give them back to the tests' runner."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    found = StopSignals()
    found.install()
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


class Holder:
    """Asks for a stop while it is freed, where Python drops every exception."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_was_dropped_is_raised_at_the_next_look(signals: StopSignals) -> None:
    holder = Holder()
    signals.check()
    del holder
    with pytest.raises(StopRequestedError):
        signals.check()


def interrupted_and_ends_well() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupted_and_fails_otherwise() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        raise OSError("another command is already in progress")


def interrupted_and_swallows_it() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException as error:
        assert isinstance(error, StopRequestedError)


def fails_by_itself() -> None:
    raise OSError("no space left on device")


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        (interrupted_and_ends_well, 0, ""),
        (interrupted_and_fails_otherwise, 0, "says OSError: another command is already in progress"),
        (interrupted_and_swallows_it, 0, ""),
        (fails_by_itself, 1, "OSError: no space left on device"),
    ],
)
def test_only_what_failed_by_itself_ends_the_run_with_an_error(
    signals: StopSignals,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    step: Callable[[], None],
    status: int,
    said: str,
) -> None:
    def open_servers(run: up.LocalRun) -> None:
        with run.console.step("Database"):
            step()
        with run.console.step("Broker"):
            sys.exit("it went on")

    monkeypatch.setattr(up.LocalRun, "_open_servers", open_servers)
    assert up.main([], root=tmp_path) == status
    text = capsys.readouterr().out
    assert "Stopped" in text
    assert ("This step failed" in text) == (status == 1)
    assert said in text

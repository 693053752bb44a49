"""The filter of routine: failures are never routine, and the tasks it names exist."""

from __future__ import annotations

import logging

import pytest

from workers.celery import app
from workers.logs import ROUTINE_TASKS, NotRoutine


def record(logger: str, level: int, message: str) -> logging.LogRecord:
    return logging.LogRecord(logger, level, "", 0, message, None, None)


@pytest.mark.parametrize("logger", ["celery.worker.strategy", "celery.app.trace"])
def test_a_routine_task_is_silent_unless_it_fails(logger: str) -> None:
    message = f"Task {ROUTINE_TASKS[0]}[id] succeeded"
    assert not NotRoutine().filter(record(logger, logging.INFO, message))
    assert NotRoutine().filter(record(logger, logging.ERROR, message))


def test_other_tasks_and_other_loggers_are_heard() -> None:
    assert NotRoutine().filter(
        record("celery.app.trace", logging.INFO, "Task audit.tasks.other[id] succeeded")
    )
    assert NotRoutine().filter(record("django.request", logging.INFO, ROUTINE_TASKS[0]))


def test_the_routine_tasks_are_those_of_the_clock() -> None:
    assert set(ROUTINE_TASKS) <= {entry["task"] for entry in app.conf.beat_schedule.values()}
    app.loader.import_default_modules()
    assert set(ROUTINE_TASKS) <= set(app.tasks)

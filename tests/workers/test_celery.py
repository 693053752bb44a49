"""The Celery app: what it promises about messages, and that a real worker keeps it."""

from __future__ import annotations

import time

import pytest
import redis

from migrations_tracker.services.scans import SCAN_REQUEST_TASK, SCAN_RUN_TASK
from tests.fixtures.worker import WorkerProcess
from workers.celery import DEFAULT_QUEUE, SCAN_QUEUE, app


def test_only_json_is_accepted() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"


def test_no_result_is_stored() -> None:
    assert app.conf.get("result_backend") is None
    assert app.conf.get("task_ignore_result") is True


def test_the_queues_are_those_of_the_design() -> None:
    assert {queue.name for queue in app.conf.task_queues} == {SCAN_QUEUE, DEFAULT_QUEUE}


@pytest.mark.parametrize(
    ("task", "queue"),
    [
        (SCAN_RUN_TASK, SCAN_QUEUE),
        (SCAN_REQUEST_TASK, SCAN_QUEUE),
        ("migrations_tracker.tasks.verification_jobs_dispatch", DEFAULT_QUEUE),
        ("any.other", DEFAULT_QUEUE),
    ],
)
def test_a_task_goes_to_the_queue_of_its_kind(task: str, queue: str) -> None:
    route = app.amqp.router.route({}, task)
    assert route["queue"].name == queue


@pytest.mark.usefixtures("worker")
def test_a_real_worker_takes_a_message_from_each_queue(broker: str) -> None:
    for queue in (SCAN_QUEUE, DEFAULT_QUEUE):
        app.send_task("celery.ping", queue=queue)
    with redis.Redis.from_url(broker) as client:
        assert _becomes_empty(client, SCAN_QUEUE, DEFAULT_QUEUE)


def test_messages_wait_in_the_broker_while_no_worker_runs(broker: str) -> None:
    app.send_task(SCAN_RUN_TASK, kwargs={"pk": 0})
    with redis.Redis.from_url(broker) as client:
        assert client.llen(SCAN_QUEUE) == 1


def test_the_worker_ends_when_asked(worker: WorkerProcess) -> None:
    worker.stop()
    assert worker.process.returncode == 0


def _becomes_empty(client: redis.Redis, *queues: str) -> bool:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if not any(client.llen(queue) for queue in queues) and not client.hlen("unacked"):
            return True
        time.sleep(0.05)
    return False

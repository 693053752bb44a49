"""The Celery app of a GPU machine: `python -m workers.runner_worker`.

It reads its own queue at the broker, does each job as `python -m workers.runner run` does, and answers over
HTTPS or under its reply key. No Django, no database: everything it knows comes from the environment.
"""

from __future__ import annotations

import sys
import threading
from functools import cache

import redis
from celery import Celery
from celery.signals import worker_ready
from kombu import Queue

from workers.protocol.report import key_prefix_of, queue_of, reply_key_of
from workers.runner.configuration import (
    Configuration,
    ConfigurationError,
    read_configuration,
)
from workers.runner.server import Server
from workers.runner.serving import BrokerLink, Link, ServerLink, Serving

ARGUMENTS = [
    *("worker", "--pool=solo", "--loglevel=INFO"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
]
RUN_JOB = "workers.runner_worker.run_job"

app = Celery("ferroaudit-runner")
app.conf.update(
    result_backend=None,
    task_ignore_result=True,
    accept_content=["json"],
    task_serializer="json",
    timezone="UTC",
    # A message is a wake-up for a lease that the server keeps: whoever takes it has it, and a lost one is
    # sent again when its lease ran out.
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    # What workers say to each other needs keys that this runner's user at the broker may not touch.
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)


def configure(configuration: Configuration) -> None:
    """Point the app at the runner's own queue, under the runner's own keys."""
    queue = queue_of(configuration.name)
    app.conf.update(
        broker_url=configuration.broker_url,
        broker_transport_options={"global_keyprefix": key_prefix_of(configuration.name)},
        task_queues=[Queue(queue)],
        task_default_queue=queue,
    )


@cache
def serving() -> Serving:
    """Make the runner that this process is, once."""
    configuration = read_configuration()
    return Serving(configuration, _link(configuration))


def _link(configuration: Configuration) -> Link:
    if configuration.server:
        return ServerLink(Server(configuration.server, configuration.token))
    client = redis.Redis.from_url(configuration.broker_url)
    key = reply_key_of(configuration.name)

    def push(document: bytes) -> None:
        client.rpush(key, document)

    return BrokerLink(push, configuration.bundles)


@app.task(name=RUN_JOB)
def run_job(job: str) -> None:
    """Do a job and deliver its outcome."""
    serving().do(job.encode())


@worker_ready.connect
def announce(**kwargs: object) -> None:
    """Tell the server of this machine, and go on telling it that the runner lives."""
    runner = serving()

    def live() -> None:
        runner.announce()
        while not pause.wait(runner.heartbeat_s):
            runner.beat()

    pause = threading.Event()
    threading.Thread(target=live, name="announce", daemon=True).start()


def main() -> None:
    """Take jobs until told to stop; the first line of the environment that is wrong ends it at once."""
    try:
        configure(read_configuration())
    except (ConfigurationError, OSError) as error:
        sys.exit(str(error))
    # One job at a time, in the process that the tested code's own end is tied to.
    app.worker_main(ARGUMENTS)


if __name__ == "__main__":
    main()

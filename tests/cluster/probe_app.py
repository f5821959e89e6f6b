"""A Celery app for the tests of the nodes; its tasks write what they did into lists of the broker."""

import os
import threading
from typing import Any

import redis
from celery import Celery

app = Celery("probe", broker=os.environ["POSTROOM_BROKER_URL"])
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True, worker_hijack_root_logger=True)


@app.task(name="probe.echo", bind=True)  # type: ignore[untyped-decorator]  # celery ships no types
def echo(task: Any, into: str, text: str) -> None:  # noqa: ANN401  # celery ships no types
    """Append the text and the worker's name to the list `into`."""
    with redis.Redis.from_url(os.environ["POSTROOM_BROKER_URL"]) as broker:
        broker.rpush(into, f"{text} by {task.request.hostname}")


@app.task(name="probe.hang")  # type: ignore[untyped-decorator]  # celery ships no types
def hang() -> None:
    """Never end."""
    print("hanging", flush=True)  # noqa: T201  # the worker's log is what the test reads
    threading.Event().wait()

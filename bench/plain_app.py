"""Plain Celery at the setting it is compared in: prefork, JSON, acknowledgements on, no result backend."""

import os

from celery import Celery
from redis import Redis

COUNTER = "bench:done"

BROKER_URL = os.environ.get("BENCH_BROKER_URL", "redis://127.0.0.1:6379/1")

app = Celery("plain", broker=BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "64")),
    broker_connection_retry_on_startup=True,
    accept_content=["json"],
)
done = Redis.from_url(BROKER_URL)


@app.task(name="plain.noop")  # type: ignore[untyped-decorator]  # Celery ships no types
def noop() -> None:
    """Do nothing but be counted, as cheaply as can be: the ledger counts ours."""
    done.incr(COUNTER)

"""Threads as the pool of `celery worker` where no other is asked for: Celery's prefork starts a child for each CPU.

Celery's setting `worker_pool` cannot say so: where it is set, Celery ignores `--pool prefork`.
"""

from celery.bin.worker import worker


def take_threads() -> None:
    """Change the default of `--pool`; what a command line or `CELERY_WORKER_POOL` names counts before it."""
    for option in worker.params:
        if option.name == "pool":
            option.default = "threads"

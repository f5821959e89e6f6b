"""Children of a prefork pool that Celery's event loop must watch again."""

from typing import Any

PRIVATE = (
    "celery.concurrency.prefork:TaskPool._pool",
    "billiard.pool:Pool._pool",
    "celery.concurrency.asynpool:AsynPool._sentinel_poll",
)


def watch_again(pool: Any) -> None:  # noqa: ANN401 - Celery ships no types
    """Let the pool's next entry into the event loop watch every child that it still has; other pools have none.

    A dying child closes its pipe a moment before its parent can collect it. Celery's pool stops watching it then, looks
    for it again within five seconds, and stumbles over it when it enters an event loop meanwhile, because the broker's
    connection was lost (celery/concurrency/asynpool.py, `_track_child_process`): the worker would end.
    """
    for child in getattr(pool._pool, "_pool", ()):  # noqa: SLF001 - Celery offers no other way
        if getattr(child, "_sentinel_poll", child) is None:
            del child._sentinel_poll  # noqa: SLF001 - as above

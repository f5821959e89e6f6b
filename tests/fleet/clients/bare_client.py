"""A service that has Celery and nothing of ours: sends what its arguments say, and prints what came of it.

Run by the interpreter of an environment that holds `celery[redis]` only.
"""

import importlib.util
import json
import sys
from typing import Any

from celery import Celery
from celery.exceptions import TaskError

WAIT_S = 60


def main(broker: str, backend: str, sent: list[list[Any]]) -> None:
    """Send each [task, keywords, options], tell that it is sent, and print what `get` answered or raised."""
    ours = [name for name in ("engine", "domain", "storage", "psycopg") if importlib.util.find_spec(name)]
    if ours:
        raise SystemExit(f"this is no bare environment: it has {ours}")
    with Celery("bare", broker=broker, backend=backend) as app:
        waiting = [
            app.send_task(task, kwargs=keywords, queue="default", serializer="json", **options)
            for task, keywords, options in sent
        ]
        print("sent", flush=True)  # noqa: T201 - what the test reads
        print(json.dumps([answer(one) for one in waiting]), flush=True)  # noqa: T201 - the same


def answer(result: Any) -> list[Any]:  # noqa: ANN401 - Celery ships no types
    """The state, and the result or the exception that `get` raised."""
    try:
        value = result.get(timeout=WAIT_S)
    except TaskError as error:
        return [result.state, type(error).__name__, list(error.args)]
    return [result.state, value]


if __name__ == "__main__":
    main(*json.loads(sys.stdin.read()))

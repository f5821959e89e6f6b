"""What a worker answers to `celery -A tasks inspect`; both the worker and the command line must know the name."""

from typing import Any

from celery.worker.control import inspect_command


@inspect_command()  # type: ignore[untyped-decorator] # Celery ships no types
def ledger(state: Any) -> dict[str, object]:  # noqa: ANN401 - Celery's panel
    """How this worker stands to the ledger."""
    consumer = state.consumer
    health: dict[str, object] = consumer.ledger_loop.health(consumer.broker_age_s)
    return health

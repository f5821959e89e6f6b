"""Reads any message that a worker receives: hints and demand of ours, jobs of foreign clients, and nothing else."""

from typing import Any

from domain.jobs.queues import PLAIN, BrokerNames
from engine.broker.hints import HintMessage, Unreadable, is_ours, read_message
from engine.messages.foreign import ForeignMessage, RefusedMessage, is_storable, read_foreign, wants_result


def read(
    message: Any,  # noqa: ANN401 - a kombu message
    names: BrokerNames = PLAIN,
) -> HintMessage | ForeignMessage | RefusedMessage:
    """What a message says. Never raises: the same message would come again, and raise again."""
    if not isinstance(message.headers, dict):
        return refuse(message, Unreadable("headers", "are no table"))
    try:
        return _read_ours(message, names) if is_ours(message.headers) else read_foreign(message)
    except Unreadable as problem:
        return refuse(message, problem)


def refuse(message: Any, problem: Unreadable) -> RefusedMessage:  # noqa: ANN401 - as above
    """The refusal of a message."""
    headers = message.headers if isinstance(message.headers, dict) else {}
    task, task_id = (_kept(headers.get(name)) for name in ("task", "id"))
    named = is_storable(task_id) and not is_ours(headers)
    return RefusedMessage(
        task or "unknown", task_id or "unknown", problem.field, problem.reason, named and wants_result(headers)
    )


def _read_ours(message: Any, names: BrokerNames) -> HintMessage:  # noqa: ANN401 - as above
    route = message.delivery_info
    queue = names.queue(route.get("routing_key")) if isinstance(route, dict) else None
    if queue is None:
        raise Unreadable("delivery_info", "names no queue of the fleet")
    return read_message(queue.value, message.headers)


def _kept(name: object) -> str:
    """A name that can be logged and stored; empty where there is none."""
    return name[:200] if isinstance(name, str) and is_storable(name[:200]) else ""

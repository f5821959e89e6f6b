"""Lets a worker adopt one message of a Celery client, as its ledger loop does."""

import json
import time
from collections.abc import Mapping
from typing import Any

from domain.jobs.failures import Invalid
from engine.messages import border
from engine.messages.foreign import ForeignMessage, RefusedMessage
from engine.runtime import Runtime
from engine.worker.adoption import Adoption
from tests.doubles.messages.odd_messages import as_redis_message, body, envelope, task_headers


class Answered:
    """A broker message that notes its answers, with the headers and the body of `message` if it has them."""

    def __init__(self, message: Any = None) -> None:  # noqa: ANN401 - a kombu message
        self.answers: list[str] = []
        self.headers = message and message.headers
        self.body = message and message.body

    def ack_log_error(self, *_given: object) -> None:
        self.answers.append("ack")

    def reject_log_error(self, *_given: object) -> None:
        self.answers.append("reject")


def adopt(process: Runtime, task: str, kwargs: Mapping[str, Any]) -> None:
    """Read the message and write its job; raises `Invalid` where the border or the worker refuses it."""
    read = border.read(as_redis_message(json.dumps(envelope(body(dict(kwargs)), task_headers(task))).encode()))
    if isinstance(read, RefusedMessage):
        raise Invalid(read.field, read.reason)
    assert isinstance(read, ForeignMessage)
    adoption, message = Adoption(process, time.monotonic), Answered()
    adoption.attach(())
    adoption.receive(message, read)
    adoption.write()
    with process.database.ledger() as tx:
        refused = tx.raw("select field, reason from refused_messages order by id desc limit 1")
    if refused:
        raise Invalid(refused[0].field, refused[0].reason)
    assert message.answers == ["ack"]

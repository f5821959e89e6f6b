"""Messages that cannot become jobs: recorded with the field, the reason and, sealed, all that they said."""

import json
from typing import Any

import structlog
from pydantic import SecretStr

from domain.jobs.failures import Failure
from engine.messages.documents import LARGEST_BODY
from engine.messages.foreign import RefusedMessage
from engine.runtime import Runtime
from storage.jobs import refusals
from storage.orgs.secrets.sealing import REFUSED_MESSAGE
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

HEAD = ("content_type", "content_encoding", "headers")

WRITTEN_OUT = "backslashreplace"
"""How bytes are kept that are no text in UTF-8."""


def content_of(message: Any) -> str:  # noqa: ANN401 - a kombu message
    """What a message says: its kind and its headers in a line of JSON, and after that its body, as it came."""
    said = {name: getattr(message, name, None) for name in HEAD}
    try:
        head = json.dumps(said, default=repr)
    except (RecursionError, TypeError, ValueError):  # what AMQP takes for headers may be no JSON
        head = json.dumps({name: repr(value) for name, value in said.items() if name != "headers"})
    return f"{head}\n{text_of(getattr(message, 'body', b''))}"


def text_of(body: object) -> str:
    """A body as text; what is no UTF-8 is written out in escapes."""
    if isinstance(body, str):
        body = body.encode("utf-8", WRITTEN_OUT)
    return bytes(body).decode("utf-8", WRITTEN_OUT) if isinstance(body, bytes | bytearray | memoryview) else repr(body)


def keep(runtime: Runtime, tx: Transaction, refused: RefusedMessage, content: str) -> None:
    """Keep a message that is refused, in a transaction of the ledger's.

    The content may hold a secret, so it is sealed. Of a long one the first 2 MiB are kept, and of too many in a
    day none.
    """
    facts = {"task": refused.task, "task_id": refused.task_id, "field": refused.field, "reason": refused.reason}
    log.warning("message_refused", **facts)
    sealed = runtime.sealer.seal(SecretStr(content[:LARGEST_BODY]), REFUSED_MESSAGE)
    refusals.record(tx, sealed_content=sealed.data, **facts)


def record_refusal(runtime: Runtime, refused: RefusedMessage, content: str) -> None:
    """Keep a message that is refused, in a transaction of its own. Never raises."""
    try:
        with runtime.database.ledger() as tx:
            keep(runtime, tx, refused, content)
    except (Failure, DatabaseError) as error:
        # The log has it; a consumer that waited here would keep good messages waiting too.
        log.warning("refusal_not_recorded", field=refused.field, error=type(error).__name__)

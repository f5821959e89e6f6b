"""Messages that cannot become jobs: recorded with the field and the reason, never with their content."""

import structlog

from domain.jobs.failures import Failure
from engine.runtime import Runtime
from storage.ledger import refusals
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)


def record_refusal(runtime: Runtime, task: str, task_id: str, field: str, reason: str) -> None:
    """Record a message that cannot become a job; its content is not kept, for it may hold a secret. Never raises.

    The reason of an `Invalid` begins with its field, which has a column of its own.
    """
    reason = reason.removeprefix(f"{field}: ")
    log.warning("message_refused", task=task, task_id=task_id, field=field, reason=reason)
    try:
        with runtime.database.ledger() as tx:
            refusals.record(tx, task=task, task_id=task_id, field=field, reason=reason)
    except (Failure, DatabaseError) as error:
        # The log has it; a consumer that waited here would keep good messages waiting too.
        log.warning("refusal_not_recorded", error=type(error).__name__)

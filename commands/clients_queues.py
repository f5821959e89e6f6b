"""The part of `celery -A tasks doctor` that looks at the queues of RabbitMQ that clients may have declared."""

from collections.abc import Sequence

import celeryconfig
from engine.broker.clients_queues import unusable
from engine.broker.connection_errors import CONNECTION_ERRORS
from engine.broker.publisher import connect_to
from observability.connection_diagnosis import diagnosis_of
from settings import Settings
from storage.postgres.readiness import Check

NAME = "queues of clients"
REMEDY = "remove them, or give the fleet a prefix for its queues: POSTROOM_QUEUE_PREFIX"


def clients_queues_checks(settings: Settings, within_s: float) -> Sequence[Check]:
    """Whether workers can consume the queues that clients send jobs to; nothing where the broker is no RabbitMQ."""
    if not settings.broker_is_rabbitmq:
        return []
    try:
        with connect_to(settings.broker_url.get_secret_value(), within_s) as connection:
            found = unusable(connection, celeryconfig.task_queues, declare=False)
    except CONNECTION_ERRORS as error:
        return [Check(NAME, ok=False, finding=diagnosis_of(error).finding, remedy="mend the broker first")]
    if not found:
        return [Check(NAME, ok=True, finding="can be consumed")]
    causes = "; ".join(f"{queue}: {cause}" for queue, cause in found.items())
    return [Check(NAME, ok=False, finding=f"no worker consumes {causes}", remedy=REMEDY)]

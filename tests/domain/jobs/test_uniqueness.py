"""How long a key is remembered."""

from datetime import timedelta

import pytest

from domain.jobs.queues import Queue
from domain.jobs.uniqueness import for_ttl, keep_key_for, while_active

DAYS = {
    Queue.CRITICAL: 30,
    Queue.DEFAULT: 30,
    Queue.NOTIFICATIONS: 7,
    Queue.PLANNING: 30,
    Queue.EXPORTS: 30,
    Queue.MAINTENANCE: 7,
    Queue.DEADLETTER: 30,
}


@pytest.mark.parametrize("queue", Queue)
def test_a_queue_has_its_time_and_a_job_type_may_have_its_own(queue: Queue) -> None:
    assert keep_key_for(None, queue) == keep_key_for(while_active("a"), queue) == timedelta(days=DAYS[queue])
    assert keep_key_for(for_ttl("a", keep_for=timedelta(hours=1)), queue) == timedelta(hours=1)

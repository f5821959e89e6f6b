"""Whatever queue a client names, or names none: its job is done, and the operator sees nothing amiss."""

from typing import Any
from uuid import UUID

import pytest
from celery import Celery

from commands.doctor import queue_checks
from domain.jobs.queues import CLIENTS_NAMES, Queue
from settings import Settings
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.fleet.test_producers import contract
from tests.waiting import eventually

NAMES = (None, *CLIENTS_NAMES, *(queue.value for queue in Queue))


def send(broker: str, job: dict[str, Any], options: dict[str, Any]) -> None:
    """As a plain Celery client does, and by the name of the task alone."""
    with Celery("billing", broker=broker, set_as_current=False) as foreign:
        foreign.send_task(job["job_type"], kwargs=job, **options)


@pytest.mark.parametrize("prefix", ["", "staging:"])
def test_a_job_is_done_whatever_queue_its_client_names(fleet: Fleet, prefix: str) -> None:
    jobs = {name: contract(fleet.org) for name in NAMES if name or not prefix}
    for name, job in jobs.items():
        send(fleet.broker_url, job, {"queue": prefix + name} if name else {})
    settings = {"POSTROOM_QUEUE_PREFIX": prefix}
    fleet.worker(queues=tuple(queue.value for queue in Queue), settings=settings).ready()
    assert fleet.wait_for_end([UUID(job["job_id"]) for job in jobs.values()]) == {"succeeded": len(jobs)}
    assert fleet.ask("select distinct queue from jobs") == [("default",)]
    assert fleet.ask("select count(*) from refused_messages") == [(0,)]
    asked = fleet.client.settings.model_copy(update={"queue_prefix": prefix})
    eventually(lambda: has_one_worker(asked), within=END_WITHIN_S, describe="the one worker's answer")
    fleet.check()


def has_one_worker(settings: Settings) -> bool:
    """Whether the worker has answered: a busy one misses a question's end, and no other may answer."""
    found = {check.finding for check in queue_checks(settings)}
    assert found <= {"1 workers", "no worker consumes it"}
    return found == {"1 workers"}


def test_the_options_of_a_message_become_the_job_s(fleet: Fleet) -> None:
    urgent, plain, own = contract(fleet.org), contract(fleet.org), contract(fleet.org, priority=-3)
    for job, options in ((urgent, {"priority": 9}), (plain, {}), (own, {"priority": 9})):
        send(fleet.broker_url, job, options)
    fleet.worker().ready()
    fleet.wait_for_end([UUID(job["job_id"]) for job in (urgent, plain, own)])
    found = dict(fleet.ask("select id::text, priority from jobs"))
    assert [found[job["job_id"]] for job in (urgent, plain, own)] == [9, 0, -3]

"""One org's worst texts in flight in a worker, and another org's job of each queue beside them (P7, P11)."""

import psutil
import psycopg

from domain.jobs.queues import Queue
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org
from tests.doubles.probes import reading_jobs
from tests.doubles.probes.reading_jobs import GATE, OF_EACH_QUEUE, Default, Exports, Notifications
from tests.fleet.fleet import QUIET_OPTIONS, Fleet
from tests.waiting import eventually

BEGINS_WITHIN_CPU_S = 2.0
"""Of the worker's own: who waits for the machine behind other processes does not wait for the texts."""
WORST = (
    Notifications(parser="Liquid"),
    Exports(parser="calendar"),
    Exports(parser="CSV"),
    Default(parser="schema and input"),
    Default(parser="pattern of a rule"),
    Default(parser="page"),
)
OPTIONS = (*QUIET_OPTIONS[:-1], f"{probe_jobs.__name__},{reading_jobs.__name__}")


def test_another_orgs_job_of_each_queue_begins_soon(fleet: Fleet) -> None:
    """The worst template, calendar, table, schema, rule and page are read in threads of the same process."""
    queues = tuple(queue.value for queue in Queue)
    fleet.worker(queues=queues, concurrency=8, options=OPTIONS).ready()
    reading = fleet.enqueue_many([one.job(org_id=fleet.org) for one in WORST])
    fleet.wait_for_line("reads", times=len(WORST))
    worker = psutil.Process(int(fleet.outside.lines("reads")[0][1]))
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        other = make_org(owner, "another org")
    for _ in range(3):
        jobs = fleet.enqueue_many([one().job(org_id=other) for one in OF_EACH_QUEUE])
        spent = sum(worker.cpu_times()[:2])
        eventually(
            lambda jobs=jobs: fleet.states(jobs)["queued"] == 0,  # type: ignore[misc]  # the loop's own
            describe="the beginning of a job of each queue",
        )
        assert sum(worker.cpu_times()[:2]) - spent < BEGINS_WITHIN_CPU_S
        assert fleet.wait_for_end(jobs) == {"succeeded": len(jobs)}
    assert fleet.states(reading)["succeeded"] == 0, "the texts are read all the while"
    fleet.outside.open_gate(GATE)
    assert fleet.wait_for_end(reading) == {"succeeded": len(WORST)}
    fleet.check()

"""Workers as operators see them: those that live first, each with the jobs that it holds."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from storage.jobs import ledger
from storage.jobs.audit_log import history
from storage.jobs.ledger import Worker
from storage.postgres.database import Database
from tests.commands.calling import answer

pytestmark = pytest.mark.usefixtures("process")


def test_workers_are_listed_with_what_they_hold(database: Connection) -> None:
    database.execute("delete from workers")
    living, gone = uuid4(), uuid4()
    for worker, lease in ((gone, "-1 minute"), (living, "1 minute")):
        database.execute(
            "insert into workers (id, node_id, hostname, pid, lease_until)"
            " values (%s, %s, 'a', 7, now() + %s::interval)",
            (worker, worker, lease),
        )
    first, second = answer(AREAS.workers, "list")
    assert (first["worker_id"], first["state"], first["held"]) == (str(living), "active", 0)
    assert (second["worker_id"], second["state"]) == (str(gone), "gone")


def test_a_worker_says_what_it_is_and_its_queues_have_its_slots(store: Database, database: Connection) -> None:
    database.execute("delete from workers")
    for lease in (timedelta(minutes=1), timedelta(minutes=-1)):
        worker = Worker(uuid4(), uuid4(), "a", 7, version="0.1.0", queues=("default", "exports"), slots=4)
        worker = replace(worker, own_job_types=("orders.confirm",))
        with store.ledger() as tx:
            ledger.renew_lease(tx, worker, lease)
    with store.ledger() as tx:
        history.add_samples(tx, [])
    first, _ = answer(AREAS.workers, "list")
    assert (first["version"], first["queues"], first["slots"]) == ("0.1.0", ["default", "exports"], 4)
    assert first["own_job_types"] == ["orders.confirm"]
    slots = {one["queue"]: one["slots"] for one in answer(AREAS.history, "depths")}
    assert {queue: number for queue, number in slots.items() if number} == {"default": 4, "exports": 4}

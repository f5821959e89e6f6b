"""Workers as operators see them: those that live first, each with the jobs that it holds."""

from uuid import uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
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

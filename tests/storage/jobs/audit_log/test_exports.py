"""A range of the audit log goes into one file, and the ranges together are the log."""

import json
from datetime import UTC, datetime
from itertools import chain
from uuid import UUID

from psycopg import Connection

from storage.jobs.audit_log import exports
from storage.postgres.database import Database
from tests.doubles.audit_entries import add_entries


def test_a_long_log_goes_into_several_files(database: Connection, store: Database, org: UUID) -> None:
    add_entries(database, org, 120)
    ((newest,),) = database.execute("select max(id) from audit_entries").fetchall()
    files: list[list[int]] = []
    while True:
        with store.ledger() as tx:
            wanted = exports.begin(tx, before=datetime.now(UTC), settled=newest, most_entries=50)
            if wanted is None:
                break
            assert exports.hold(tx, wanted)
            files.append([json.loads(line.text)["id"] for line in exports.lines(tx, wanted, at_once=7)])
            exports.finish(tx, wanted, events=len(files[-1]), sha256="0" * 64)
    assert len(files) == 5
    assert list(chain(*files)) == [row[0] for row in database.execute("select id from audit_log order by id")]

"""The statements over batches keep their plans: PostgreSQL plans each a few times per connection, and never again."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, RawCursor

from domain.jobs.job import NewJob
from domain.jobs.lifecycle import MOST_REFUSED_SUSPECTS, SUSPECT_REST, Settlement
from domain.jobs.scheduling.backlog_demand import BacklogKey
from storage.jobs import answers, ledger
from storage.jobs import relay as relay_statements
from storage.jobs.ledger import Worker
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import numbered
from storage.postgres.queries import statement
from tests.doubles.factories import HINT_TIMEOUT, LEASE, enqueue_one, make_job_type, make_org, make_worker

TRIED = 5
"""How often PostgreSQL plans a prepared statement anew before it compares what a kept plan would cost."""


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "probe.run")
    return make_org(database)


def claim_by_hints(tx: Transaction, store: Database, org: UUID, worker: Worker) -> None:
    ledger.claim(tx, [enqueue_one(store, org) for _ in range(5)], worker.worker_id, lease=LEASE)


def claim_from_backlog(tx: Transaction, store: Database, org: UUID, worker: Worker) -> None:
    jobs = [NewJob("probe.run", org, {}, priority=priority) for priority in (0, 5) for _ in range(20)]
    with store.ledger() as other:
        ledger.enqueue(other, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)
    demand = {BacklogKey("default", priority, org): 20 for priority in (0, 5)}
    claims = ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand=demand)
    assert len(claims.jobs) == 40


def settle(tx: Transaction, store: Database, org: UUID, worker: Worker) -> None:
    claims = ledger.claim(tx, [enqueue_one(store, org) for _ in range(5)], worker.worker_id, lease=LEASE)
    ledger.settle(tx, [Settlement.unstarted(job, "shutdown", datetime.now(UTC)) for job in claims.jobs])


def relay(tx: Transaction, store: Database, org: UUID, _: Worker) -> None:
    enqueue_one(store, org)
    relay_statements.publish_due(tx, batch=100, hint_timeout=HINT_TIMEOUT, burst=20)
    relay_statements.waiting_tenants(tx, "default", 0, start=UUID(int=0), most=100)
    relay_statements.count_backlog(tx, {BacklogKey("default", 0, org): 100})


CALLS = {
    "claim by hints": (claim_by_hints, 1),
    "claim from backlog": (claim_from_backlog, 1),
    "settle": (settle, 2),
    "relay": (relay, 3),
}
"""And how many statements each runs on the connection."""


@pytest.mark.parametrize("call", CALLS)
def test_a_plan_is_kept(store: Database, org: UUID, call: str) -> None:
    (act, statements), worker = CALLS[call], make_worker(store)
    with store.statements() as tx:
        for _ in range(4 * TRIED):
            act(tx, store, org, worker)
        plans = tx.raw(
            "select statement, custom_plans from pg_prepared_statements where not from_sql and generic_plans > 0"
        )
    assert [row.custom_plans for row in plans] == [TRIED] * statements, plans


@pytest.mark.parametrize(
    ("name", "columns"), [("claim_jobs", answers.CLAIM_COLUMNS), ("settle_jobs", answers.SETTLE_COLUMNS)]
)
def test_the_rows_of_a_batch_come_in_the_order_in_which_they_are_read(
    database: Connection, name: str, columns: tuple[str, ...]
) -> None:
    """Otherwise Python moves each column of each row."""
    text, names = numbered(statement(name))
    suspects = {"alone": False, "suspects_rest": SUSPECT_REST, "most_suspect": MOST_REFUSED_SUSPECTS}
    given = {"token": uuid4(), "worker_id": uuid4(), "lease": LEASE, "hint_timeout": LEASE, "burst": 20} | suspects
    given |= answers.NO_SLOTS.as_parameters() | {"born_by": uuid4()}
    answer = RawCursor(database).execute(text, [given.get(one, []) for one in names])
    assert tuple(column.name for column in answer.description or ()) == columns

"""A tenant's SQL enqueues in the name of the job that it holds, and in nobody else's (promise P2)."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Forbidden
from domain.jobs.job import ActorType, ClaimedJob, NewJob, Origin
from storage.jobs import ledger
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org

ANN = Origin(ActorType.USER, "ann", "her request", "her errand")
BOSS = Origin(ActorType.API_KEY, "the boss", "his request", "his errand")


@pytest.fixture
def held(store: Database, database: Connection) -> ClaimedJob:
    make_job_type(store)
    return claim_one(store, enqueue_one(store, make_org(database), origin=ANN))


def by_function(tx: Transaction, org: UUID) -> None:
    """As SQL that knows the entry point calls it."""
    given = (
        "actor_type => 'api_key', actor_id => 'the boss', request_id => 'his request', correlation_id => 'his errand'"
    )
    tx.raw(f"select postroom.enqueue('probe.run', %(org)s, {given})", {"org": org})


def by_engine(count: int) -> Callable[[Transaction, UUID], None]:
    """As the engine's own functions are called."""

    def enqueue(tx: Transaction, org: UUID) -> None:
        job = NewJob("probe.run", org, {}, origin=BOSS, parent_id=uuid4(), replay_of=uuid4())
        ledger.enqueue(tx, [job] * count, publisher=False, hint_timeout=HINT_TIMEOUT)

    return enqueue


WAYS = {"postroom.enqueue": by_function, "one": by_engine(1), "two": by_engine(2)}


def names(database: Connection, held: ClaimedJob) -> set[tuple[object, ...]]:
    """In whose name the other jobs stand, in their rows and in the audit log."""
    columns = "actor_type, actor_id, request_id, correlation_id, replay_of"
    jobs = database.execute(f"select {columns} from jobs where id <> %s".encode(), (held.job_id,)).fetchall()
    audit = database.execute(
        f"select {columns} from audit_entries where job_id <> %s".encode(), (held.job_id,)
    ).fetchall()
    assert len(audit) == len(jobs)
    return {*jobs, *audit}


@pytest.mark.parametrize("enqueue", WAYS.values(), ids=WAYS)
def test_what_a_handler_enqueues_is_in_the_name_of_its_job(
    store: Database, database: Connection, held: ClaimedJob, enqueue: Callable[[Transaction, UUID], None]
) -> None:
    with store.claimed(held.org_id, held.job_id, held.token) as tx:
        enqueue(tx, held.org_id)
        tx.raw("reset all")
        tx.restore()
        enqueue(tx, held.org_id)
    assert names(database, held) == {("user", "ann", "her request", "her errand", None)}
    parents = database.execute("select distinct parent_id from jobs where id <> %s", (held.job_id,)).fetchall()
    assert {row[0] for row in parents} <= {None, held.job_id}


@pytest.mark.parametrize("enqueue", WAYS.values(), ids=WAYS)
def test_what_a_tenant_enqueues_without_a_job_is_in_its_own_name(
    store: Database, database: Connection, held: ClaimedJob, enqueue: Callable[[Transaction, UUID], None]
) -> None:
    with store.tenant(held.org_id) as tx:
        enqueue(tx, held.org_id)
    found = database.execute(
        "select actor_type, actor_id, parent_id, request_id = id::text from jobs where id <> %s", (held.job_id,)
    )
    assert set(found.fetchall()) == {("system", "tenant", None, True)}


@pytest.mark.parametrize("enqueue", WAYS.values(), ids=WAYS)
def test_a_name_without_its_seal_is_refused(
    store: Database, database: Connection, held: ClaimedJob, enqueue: Callable[[Transaction, UUID], None]
) -> None:
    """Nor does the seal of one name, or of one org, serve another."""
    other = make_org(database, "another org")
    with store.claimed(held.org_id, held.job_id, held.token) as tx:
        said = tx.raw("select current_setting('postroom.job') as origin, current_setting('postroom.job_seal') as seal")[
            0
        ]
    forged = b'{"actor_type": "user", "actor_id": "the boss"}'.hex()
    for org, origin in ((held.org_id, forged), (other, said.origin)):
        put_on = (
            "select set_config('postroom.origin', %(origin)s, true), set_config('postroom.origin_seal', %(seal)s, true)"
        )
        with pytest.raises(Forbidden, match="without its seal"), store.tenant(org) as tx:
            tx.raw(put_on, {"origin": origin, "seal": said.seal})
            enqueue(tx, org)

"""A round of the relay while the broker is away: rescues go on, and nothing is marked as sent."""

import os
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from engine.process.runtime import Runtime
from engine.relay.backlog import BacklogPublisher
from engine.relay.broker import Broker
from engine.relay.relay import Relay
from sandbox.servers.free_port import LOOPBACK, find_free_port
from settings import Settings
from storage.ledger import relay
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, make_worker


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


def turn(settings: Settings, broker_url: str) -> None:
    """One round of a leader: the relay's own turn, and its publisher's."""
    process = Runtime(Settings.model_validate(settings.model_dump() | {"broker_url": broker_url}))
    try:
        Relay(process).turn()
        BacklogPublisher(process, Broker(process)).turn()
    finally:
        process.close()


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_is_away_keeps_no_rescue_waiting_and_no_hint_is_marked_as_sent(
    settings: Settings, database: Connection, store: Database, org: UUID, scheme: str
) -> None:
    waiting, orphan = enqueue_one(store, org), enqueue_one(store, org)
    database.execute("update jobs set published_at = null, next_check_at = now() where id = %s", (waiting,))
    claim_one(store, orphan, make_worker(store))
    database.execute("update workers set lease_until = now() - interval '1 second'")
    database.execute("update jobs set next_check_at = now() where id = %s", (orphan,))
    turn(settings, f"{scheme}://{LOOPBACK}:{find_free_port()}//")
    rows = database.execute(
        "select id, state, losses, published_at, next_check_at <= now(), backlog_since is not null from jobs"
    ).fetchall()
    # The scheduled one is still to be looked at; the rescued one waits in the backlog for its turn.
    assert sorted(rows) == sorted([(waiting, "queued", 0, None, True, False), (orphan, "queued", 1, None, None, True)])
    turn(settings, settings.broker_url.get_secret_value())
    assert database.execute("select count(*) from jobs where published_at is not null").fetchone() == (2,)


def test_a_leader_with_much_to_do_is_heard_without_waiting(store: Database) -> None:
    with store.session() as leader, store.session() as standby:
        assert relay.lead(leader)

        def last_heard() -> object:
            query = "select state_change, application_name from pg_stat_activity where pid = %s"
            return standby.execute(query, (leader.info.backend_pid,)).fetchone()

        before = last_heard()
        assert not relay.wait(leader, 0)
        assert last_heard() != before
        assert not relay.depose(standby, timedelta(minutes=1))
        # Who leads can be read off the name.
        assert str(last_heard()).rpartition(":")[2].startswith(str(os.getpid()))

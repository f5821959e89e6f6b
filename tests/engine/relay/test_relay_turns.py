"""A round of the relay while the broker is away: rescues go on, and nothing is marked as sent."""

import os
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from structlog.testing import capture_logs

from engine.relay.backlog import BacklogPublisher
from engine.relay.broker import Broker
from engine.relay.relay import Relay
from engine.runtime import Runtime
from sandbox.servers.free_port import LOOPBACK, find_free_port
from settings import Settings
from storage.jobs.leadership import Leadership
from storage.postgres.database import SESSION, Database
from tests.doubles.factories import claim_demanded, claim_one, enqueue_one, make_job_type, make_org, make_worker
from tests.waiting import eventually


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
def test_ac_16_a_broker_that_is_away_keeps_no_rescue_waiting_and_no_hint_is_marked_as_sent(
    settings: Settings, database: Connection, store: Database, org: UUID, scheme: str
) -> None:
    waiting, orphan = enqueue_one(store, org), enqueue_one(store, org)
    database.execute("update jobs set published_at = null, next_check_at = now() where id = %s", (waiting,))
    claim_one(store, orphan, make_worker(store))
    database.execute("update workers set lease_until = now() - interval '1 second'")
    database.execute("update jobs set next_check_at = now() where id = %s", (orphan,))
    turn(settings, f"{scheme}://{LOOPBACK}:{find_free_port()}")
    rows = database.execute(
        "select id, state, losses, published_at, next_check_at <= now(), backlog_since is not null from jobs"
    ).fetchall()
    # The scheduled one is still to be looked at; the rescued one waits in the backlog for its turn.
    assert sorted(rows) == sorted([(waiting, "queued", 0, None, True, False), (orphan, "queued", 0, None, None, True)])
    turn(settings, settings.broker_url.get_secret_value())
    assert database.execute("select id from jobs where published_at is not null").fetchall() == [(waiting,)]
    assert claim_demanded(store) == [orphan]


@pytest.fixture
def database_url(fresh_database_url: str) -> str:
    """Sessions are counted."""
    return fresh_database_url


def test_a_relay_that_is_deposed_stops_leading_and_stands_by(settings: Settings, database: Connection) -> None:
    process = Runtime(settings)
    relay = Relay(process)
    relay.start()
    try:
        leads = "select pid, leads_until > clock_timestamp() from relay_leader"
        eventually(lambda: database.execute(leads).fetchone() == (os.getpid(), True), within=10, describe="a leader")
        with capture_logs() as logs, process.database.session() as session:
            rival = Leadership(session, uuid4())
            database.execute("update relay_leader set leads_until = clock_timestamp()")
            eventually(rival.take, within=10, describe="the rival's leadership")
            here = "from pg_stat_activity where datname = current_database()"
            stands_by = f"select count(*) {here} and application_name like '{SESSION}%'"
            assert database.execute(stands_by).fetchone() == (2,)
            deposed = {"event": "relay_was_deposed", "log_level": "warning"}
            eventually(lambda: deposed in logs, within=10, describe="the end of the first leadership")
            assert rival.take()
        # The rival's session has ended, and with it its leadership.
        led = f"select leads_until > clock_timestamp() and holder <> '{rival.holder}' from relay_leader"
        eventually(lambda: database.execute(led).fetchone() == (True,), within=10, describe="the second leadership")
    finally:
        relay.stop()
        relay.join(10)
        process.close()
    assert database.execute("select leads_until <= clock_timestamp() from relay_leader").fetchone() == (True,)

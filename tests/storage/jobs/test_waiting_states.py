"""Where a queued job waits: published, scheduled, in the backlog, or parked; and how the relay moves it on."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import NewJob
from domain.jobs.scheduling.fairness import Tenant
from storage.jobs import gates, ledger, relay
from storage.jobs.gates import Gate
from storage.postgres.database import Database
from tests.doubles.factories import (
    HINT_TIMEOUT,
    LEASE,
    claim_demanded,
    claim_one,
    enqueue_one,
    make_job_type,
    make_org,
    make_worker,
    pass_time,
    relay_once,
)

BURST = 5
ORDINARY = 0


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


def enqueue(store: Database, org: UUID, count: int, *, priority: int = 0) -> list[UUID]:
    """So many jobs in one call; returns those that the caller is to publish."""
    jobs = [NewJob("probe.run", org, {}, priority=priority) for _ in range(count)]
    with store.ledger() as tx:
        answers = ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=BURST)
    return [answer.job_id for answer in answers if answer.publish]


def waiting(database: Connection) -> Counter[str]:
    """How many unfinished jobs are in each waiting state."""
    rows = database.execute(
        "select case when backlog_since is not null then 'backlog' when parked_by is not null then parked_by"
        " when published_at is not null then 'published' else 'scheduled' end from jobs where finished_at is null"
    )
    return Counter(row[0] for row in rows)


def owners_of_jobs(database: Connection) -> dict[UUID, UUID]:
    return {row[0]: row[1] for row in database.execute("select id, org_id from jobs")}


def close(store: Database, scope: str, key: str) -> None:
    with store.ledger() as tx:
        gates.close(tx, Gate(scope, key, "maintenance", None, "an operator"))


def test_a_burst_is_published_at_once_and_the_rest_waits_for_the_relay(
    database: Connection, store: Database, org: UUID
) -> None:
    other = make_org(database, "another org")
    assert len(enqueue(store, org, 12)) == BURST
    assert waiting(database) == {"published": BURST, "backlog": 12 - BURST}
    # What comes later must not overtake what waits; another tenant has nothing to do with it.
    assert enqueue(store, org, 1) == []
    assert len(enqueue(store, other, 1)) == 1
    with store.ledger() as tx:
        tx.raw("delete from jobs where backlog_since is not null")
        relay.clear_over_burst(tx, relay.backlog(tx, ["default"]))
    assert len(enqueue(store, org, 1)) == 1


def test_a_tenant_with_a_backlog_stays_over_its_burst(database: Connection, store: Database, org: UUID) -> None:
    enqueue(store, org, BURST + 1, priority=7)
    with store.ledger() as tx:
        relay.clear_over_burst(tx, relay.backlog(tx, ["default"]))
    assert enqueue(store, org, 1) == []
    assert waiting(database)["backlog"] == 2


def test_two_enqueues_of_one_tenant_do_not_wait_for_each_other(store: Database, org: UUID) -> None:
    jobs = [NewJob("probe.run", org, {}) for _ in range(BURST + 1)]
    with store.ledger() as first, store.ledger() as second:
        ledger.enqueue(first, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=BURST)
        second.raw("set local lock_timeout = '1s'")
        answers = ledger.enqueue(second, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=BURST)
    assert sum(answer.publish for answer in answers) == BURST
    assert enqueue(store, org, 1) == []


def test_nothing_is_published_into_a_queue_that_is_full(database: Connection, store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        relay.close_queue(tx, "default")
    assert enqueue(store, org, 1) == []
    with store.ledger() as tx:
        relay.clear_over_burst(tx, {})
    assert enqueue(store, org, 1) == []
    with store.ledger() as tx:
        relay.open_queue(tx, "default")
    assert len(enqueue(store, org, 1)) == 1
    assert waiting(database) == {"backlog": 2, "published": 1}


def test_who_stays_under_the_burst_in_each_call_is_noticed(store: Database, org: UUID) -> None:
    for _ in range(3):
        assert len(enqueue(store, org, BURST)) == BURST
    with store.ledger() as tx:
        assert relay.mark_over_burst(tx, "exports", burst=BURST, newest=100) == 0
        assert relay.mark_over_burst(tx, "default", burst=3 * BURST, newest=100) == 0
        assert relay.mark_over_burst(tx, "default", burst=BURST, newest=100) == 1
        assert relay.mark_over_burst(tx, "default", burst=BURST, newest=100) == 0
    assert enqueue(store, org, 1) == []


def test_scheduled_jobs_that_fall_due_together_are_shared_too(database: Connection, store: Database, org: UUID) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    with store.ledger() as tx:
        jobs = [NewJob("probe.run", org, {}, run_at=due) for _ in range(BURST + 3)]
        ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=BURST)
    assert waiting(database) == {"scheduled": BURST + 3}
    pass_time(database, timedelta(hours=1, seconds=1))
    with store.ledger() as tx:
        found = relay.publish_due(tx, batch=100, hint_timeout=HINT_TIMEOUT, burst=BURST)
    assert (len(found.hints), found.moved) == (BURST, BURST + 3)
    assert waiting(database) == {"published": BURST, "backlog": 3}
    assert enqueue(store, org, 1) == []


def test_a_hint_that_was_out_too_long_counts_against_the_window(
    database: Connection, store: Database, org: UUID
) -> None:
    """It may still lie in the broker: published again at once, the hints of slow jobs would pile up."""
    enqueue(store, org, 1)
    pass_time(database, HINT_TIMEOUT + timedelta(seconds=1))
    with store.ledger() as tx:
        assert relay.publish_due(tx, batch=100, hint_timeout=HINT_TIMEOUT, burst=BURST).hints == ()
    assert waiting(database) == {"backlog": 1}


def test_tenants_take_turns_by_weight_and_a_flood_waits(database: Connection, store: Database, org: UUID) -> None:
    heavy, small = make_org(database, "heavy"), make_org(database, "small")
    database.execute("update orgs set weight = 2 where id = %s", (heavy,))
    for tenant, count in ((org, 100), (heavy, 100), (small, 3)):
        enqueue(store, tenant, BURST + count)
    with store.ledger() as tx:
        tenants = relay.waiting_tenants(tx, "default", ORDINARY, start=UUID(int=0), most=10)
        assert tenants == [Tenant(org), Tenant(heavy, 2), Tenant(small)]
        assert relay.waiting_tenants(tx, "default", ORDINARY, start=heavy, most=10) == [*tenants[1:], tenants[0]]
        assert relay.waiting_tenants(tx, "default", ORDINARY, start=heavy, most=2) == tenants[1:]
    owners = owners_of_jobs(database)
    assert Counter(owners[job_id] for job_id in claim_demanded(store, room=8)) == {org: 2, heavy: 4, small: 2}
    assert Counter(owners[job_id] for job_id in claim_demanded(store, room=32)) == {org: 8, heavy: 16, small: 1}


def test_the_higher_priority_goes_first(database: Connection, store: Database, org: UUID) -> None:
    enqueue(store, org, BURST + 3)
    urgent = make_org(database, "urgent")
    enqueue(store, urgent, BURST + 2, priority=10)
    with store.ledger() as tx:
        assert relay.backlog(tx, ["default", "exports"]) == {"default": [10, ORDINARY]}
    owners = owners_of_jobs(database)
    assert [owners[job_id] for job_id in claim_demanded(store, room=4)] == [urgent, urgent, org, org]


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        ("fleet", "*"),
        ("queue", "default"),
        ("job_type", "probe.run"),
        ("org", ""),
        ("account", "a1"),
        ("provider", "mail"),
    ],
)
def test_a_gate_of_any_scope_parks_and_lets_out_again(
    database: Connection, store: Database, org: UUID, scope: str, key: str
) -> None:
    make_job_type(store, providers=("calendar", "mail"))
    key = key or str(org)
    published = enqueue_one(store, org, payload={"account_id": "a1"})
    close(store, scope, key)
    at_once = enqueue_one(store, org, payload={"account_id": "a1"})
    with store.ledger() as tx:
        claims = ledger.claim(tx, [published, at_once], make_worker(store).worker_id, lease=LEASE)
    assert claims.refused == {published: "gated", at_once: "gated"}
    assert waiting(database) == {f"gate:{scope}:{key}": 2}
    assert relay_once(store) == []
    with store.ledger() as tx:
        assert gates.open_gate(tx, scope, key)
    assert relay_once(store) == []
    assert waiting(database) == {"backlog": 2}
    assert set(claim_demanded(store)) == {published, at_once}


def test_a_gate_of_another_key_keeps_nothing_back(database: Connection, store: Database, org: UUID) -> None:
    make_job_type(store, providers=("mail",))
    for scope, key in (("queue", "exports"), ("job_type", "probe.other"), ("org", str(UUID(int=9))), ("provider", "x")):
        close(store, scope, key)
    claim_one(store, enqueue_one(store, org))
    assert waiting(database)["published"] == 1


def test_a_backlog_behind_a_gate_is_moved_once(database: Connection, store: Database, org: UUID) -> None:
    enqueue(store, org, BURST + 50)
    close(store, "org", str(org))
    assert claim_demanded(store) == []
    assert waiting(database)[f"gate:org:{org}"] == 50
    before = database.execute("select sum(xmin::text::bigint) from jobs").fetchone()
    for _ in range(3):
        assert relay_once(store) == []
        assert claim_demanded(store) == []
    assert database.execute("select sum(xmin::text::bigint) from jobs").fetchone() == before


def test_a_job_behind_two_gates_waits_for_both(database: Connection, store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        gates.close(tx, Gate("org", str(org), "a pause", datetime.now(UTC) + timedelta(hours=1), "an operator"))
    close(store, "queue", "default")
    job_id = enqueue_one(store, org)
    assert waiting(database) == {"gate:queue:default": 1}
    with store.ledger() as tx:
        gates.open_gate(tx, "queue", "default")
    assert relay_once(store) == []
    assert claim_demanded(store) == []
    assert waiting(database) == {f"gate:org:{org}": 1}
    pass_time(database, timedelta(hours=1, seconds=1))
    assert relay_once(store) == []
    assert claim_demanded(store) == [job_id]


def test_a_scheduled_job_is_parked_when_it_is_due_and_not_before(
    database: Connection, store: Database, org: UUID
) -> None:
    close(store, "queue", "default")
    enqueue_one(store, org, run_at=datetime.now(UTC) + timedelta(minutes=5))
    assert relay_once(store) == []
    assert waiting(database) == {"scheduled": 1}
    pass_time(database, timedelta(minutes=6))
    assert relay_once(store) == []
    assert waiting(database) == {"gate:queue:default": 1}


def test_lost_hints_are_recalled_a_bounded_number_at_a_time(database: Connection, store: Database, org: UUID) -> None:
    for _ in range(2):
        enqueue(store, org, BURST)
    with store.ledger() as tx:
        assert [relay.recall_hints(tx, batch=7) for _ in range(2)] == [7, 3]
    assert waiting(database) == {"backlog": 10}


def test_a_job_in_the_backlog_can_be_claimed_by_an_old_hint(database: Connection, store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    with store.ledger() as tx:
        relay.recall_hints(tx, batch=10)
    assert waiting(database) == {"backlog": 1}
    claim_one(store, job_id)
    assert waiting(database)["backlog"] == 0

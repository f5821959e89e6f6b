"""Every hot statement finds its rows by an index in a ledger with a million jobs, with all that its functions look up.

The statements are run for real and rolled back; PostgreSQL tells the plans of the nested ones too (auto_explain).
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.job import SYSTEM_ORG
from storage.jobs.answers import Slots
from storage.jobs.relay import LAST_ID
from storage.postgres.queries import statement
from tests.servers.servers import SessionServers
from tests.storage.jobs.plans.explained import indexes, nodes, plans_of
from tests.storage.jobs.plans.million import JOBS, million_url

BIG = {"jobs", "audit_entries", "idempotency_keys"}
LEASE, HINT_TIMEOUT = timedelta(seconds=60), timedelta(seconds=30)
NOBODY = UUID(int=0)
RENEWAL = {
    "worker_id": uuid4(), "hostname": "host", "pid": 1, "version": "1", "queues": [], "slots": 1, "own_job_types": [],
}  # fmt: skip
SLOTS = Slots(20, ["default"], uuid4(), uuid4(), LEASE).as_parameters()


@pytest.fixture(scope="module")
def million(servers: SessionServers) -> Iterator[Connection]:
    with psycopg.connect(million_url(servers)) as owner:
        yield owner


@pytest.fixture(autouse=True)
def rolled_back(million: Connection) -> Iterator[None]:
    yield
    million.rollback()


def whole_reads(reported: list[dict[str, Any]]) -> set[str]:
    """The big tables that were read from end to end, by themselves or by a whole index."""
    return {
        f"{node['Node Type']} of {node.get('Relation Name')} in {one['Query Text'][:60]}"
        for one in reported
        for node in nodes(one["Plan"])
        if node.get("Relation Name") in BIG and "Seq Scan" in node["Node Type"]
    }


def column(connection: Connection, name: str, where: str) -> list[Any]:
    query = f"select {name} from jobs where {where} order by id limit 100"
    return [row[0] for row in connection.execute(query.encode())]


HELD, PUBLISHED = "state = 'running'", "published_at is not null and state = 'queued'"


def claiming(million: Connection) -> dict[str, Any]:
    ids = column(million, "id", PUBLISHED)
    return {
        "job_ids": ids, "token": uuid4(), "worker_id": uuid4(), "lease": LEASE,
        "alone": False, "suspects_rest": LEASE, "most_suspect": 10,
    } | demand(million)  # fmt: skip


def demand(million: Connection) -> dict[str, Any]:
    """For the jobs of each org that has some."""
    orgs = sorted(set(column(million, "org_id", "backlog_since is not null")))
    each = len(orgs)
    return {
        "queues": ["default"] * each,
        "priorities": [0] * each,
        "org_ids": orgs,
        "counts": [5] * each,
        "cursors": [],
    }


def counting(million: Connection) -> dict[str, Any]:
    orgs = sorted(set(demand(million)["org_ids"]))
    return {"queue": "default", "priority": 0, "org_ids": orgs, "mosts": [5] * len(orgs)}


def starting(million: Connection) -> dict[str, Any]:
    ids, tokens = column(million, "id", HELD), column(million, "claim_token", HELD)
    return {"job_ids": ids, "tokens": tokens, "started_ats": [datetime.now(UTC)] * len(ids)}


def settling(million: Connection) -> dict[str, Any]:
    ids, tokens = column(million, "id", HELD), column(million, "claim_token", HELD)
    each: dict[str, Any] = {
        "states": "succeeded", "run_ats": None, "attempt_deltas": 0, "loss_deltas": 0, "started_ats": None,
        "outputs": None, "errors": None, "costs": 0, "reasons": None, "details": None, "suspects": None,
        "return_deltas": 0, "gates": None, "children": None,
    }  # fmt: skip
    publishing = {"hint_timeout": HINT_TIMEOUT, "burst": 20} | SLOTS | {"born_by": uuid4()}
    return {"job_ids": ids, "tokens": tokens} | publishing | {name: [value] * len(ids) for name, value in each.items()}


def bearing(million: Connection) -> dict[str, Any]:
    """A handler's transaction claims what it has enqueued: as if published in this transaction."""
    million.execute("update jobs set published_at = now() where id = any (%s)", (column(million, "id", PUBLISHED),))
    return one_held(million) | SLOTS | {"fresh": column(million, "id", PUBLISHED)}


def canceling(million: Connection) -> dict[str, Any]:
    who = {"actor_type": "system", "actor_id": "x"}
    return {"job_ids": column(million, "id", PUBLISHED), "reason": "x", "details": Jsonb({}), "org_id": None} | who


def one_held(million: Connection) -> dict[str, Any]:
    job_id, token = column(million, "id", HELD)[0], column(million, "claim_token", HELD)[0]
    return {"job_id": job_id, "token": token, "key": "send"}


def a_node(million: Connection) -> dict[str, Any]:
    row = million.execute("select node_id from workers order by pid limit 1").fetchone()
    assert row is not None
    return {"node_id": row[0], "lease": LEASE, "tokens": [uuid4()], "cause": "shutdown"}


def asking_accounts(million: Connection) -> dict[str, Any]:
    row = million.execute("select id from accounts order by id offset 500 limit 1").fetchone()
    assert row is not None
    given = {"actor_id": "x", "request_id": "r", "correlation_id": "c", "parent_id": uuid4()}
    return {
        "job_type": "probe.run",
        "payload": Jsonb({}),
        "payload_version": 1,
        "after": NOBODY,
        "upto": row[0],
        "org_ids": None,
    } | given


HOT: dict[str, tuple[dict[str, Any] | Callable[[Connection], dict[str, Any]], str]] = {
    "claim_jobs": (claiming, "jobs_backlog"),
    "start_jobs": (starting, "jobs_pkey"),
    "settle_jobs": (settling, "jobs_pkey"),
    "claim_children": (bearing, "jobs_pkey"),
    "cancel_jobs": (
        canceling,
        "jobs_pkey",
    ),
    "publish_due": ({"batch": 1000, "hint_timeout": HINT_TIMEOUT, "burst": 20}, "jobs_next_check"),
    "list_backlog": ({"queues": ["default", "exports"]}, "jobs_backlog"),
    "list_waiting_orgs": (
        {"queue": "default", "priority": 0, "start": NOBODY, "last": LAST_ID, "most": 500},
        "jobs_backlog",
    ),
    "count_backlog": (counting, "jobs_backlog"),
    "list_parks": ({"after": "", "most": 500, "batch": 1000}, "jobs_parked"),
    "unpark_jobs": ({"names": ["gate:queue:default"], "rooms": [1000]}, "jobs_parked"),
    "mark_over_burst": ({"queue": "default", "burst": 20, "newest": 2000}, "jobs_pkey"),
    "clear_over_burst": ({"queues": ["default"], "priorities": [0]}, "jobs_backlog"),
    "lock_lost_claims": ({"batch": 500}, "jobs_next_check"),
    "return_claims": (lambda m: a_node(m) | {"job_ids": None}, "jobs_next_check"),
    "recall_hints": ({"batch": 1000}, "jobs_next_check"),
    "renew_lease": (lambda m: RENEWAL | a_node(m), ""),
    "list_expired": ({"most": 1000}, "jobs_parked_expiry"),
    "begin_effect": (
        lambda m: one_held(m) | {"strategy": "find", "keep_for": LEASE, "lasts": LEASE, "request": None},
        "jobs_pkey",
    ),
    "announce_call": (lambda m: one_held(m) | {"lasts": LEASE, "request": None}, "jobs_pkey"),
    "hand_over_effects": (
        lambda m: {"sources": [one_held(m)["job_id"]], "targets": [uuid4()]},
        "idempotency_keys_job",
    ),
    "finish_effect": (lambda m: one_held(m) | {"status": "unknown", "result": None, "error": None}, "jobs_pkey"),
    "save_step": (lambda m: one_held(m) | {"name": "step", "result": Jsonb({}), "cost": 0, "took": LEASE}, "jobs_pkey"),
    "list_descendants": (
        lambda m: {"job_ids": column(m, "id", HELD), "org_id": None, "system_org": SYSTEM_ORG, "levels": 32, "most": 9},
        "jobs_parent",
    ),
    "delete_finished_jobs": ({"keep_for": timedelta(days=6, hours=23), "batch": 1000, "after": NOBODY}, "jobs_pkey"),
    "purge_expired_keys": ({"batch": 1000}, "idempotency_keys_expiry"),
    "fan_out_to_accounts": (asking_accounts, "accounts_pkey"),
}


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_reads_no_big_table_from_end_to_end(million: Connection, name: str, mode: str) -> None:
    given, index = HOT[name]
    parameters = given if isinstance(given, dict) else given(million)
    million.execute(f"set local plan_cache_mode = {mode}".encode())
    with plans_of(million) as reported:
        million.execute(statement(name).encode(), parameters, prepare=True)
    assert reported
    assert whole_reads(reported) == set()
    assert index in indexes(reported) | {""}, indexes(reported)


def test_enqueues_and_the_fence_look_up_by_indexes(million: Connection) -> None:
    held = one_held(million)
    org = column(million, "org_id", HELD)[0]
    given = {"job_type": "probe.run", "org_id": str(org)}
    requests = [given | {"payload": {"n": n}, "idempotency_key": f"new{n}"} for n in range(50)]
    with plans_of(million) as reported:
        million.execute("select postroom.hold_claim(%(job_id)s, %(token)s)", held)
        million.execute("select * from postroom.enqueue_jobs(%s)", (Jsonb(requests),))
        million.execute("select * from postroom.settle_held(%(job_id)s, %(token)s, '{}', 0, now())", held)
    assert len(reported) > len(("hold", "enqueue", "settle")), "the functions' own statements are reported too"
    assert whole_reads(reported) == set()
    assert {"jobs_pkey", "jobs_parked"} <= indexes(reported)


def test_there_are_a_million(million: Connection) -> None:
    assert million.execute("select count(*) from jobs").fetchone() == (JOBS,)


def test_reading_a_big_table_from_end_to_end_is_found(million: Connection) -> None:
    with plans_of(million) as reported:
        million.execute("select count(*) from jobs where payload ->> 'n' = '7'")
    assert len(whole_reads(reported)) == 1

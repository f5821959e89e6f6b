"""No hot statement reads the whole ledger while a backlog of middling size is worked off.

A million jobs would not show it: there, reading them all looks dear to the planner whatever it thinks of a limit.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.job import NewJob
from domain.jobs.lifecycle import MOST_REFUSED_SUSPECTS, SUSPECT_REST
from settings import Settings
from storage.jobs import ledger
from storage.jobs.answers import Slots
from storage.jobs.relay import LAST_ID
from storage.postgres.database import Database
from storage.postgres.queries import statement
from tests.doubles.factories import make_job_type, make_org
from tests.storage.jobs.plans.explained import plans_of
from tests.storage.jobs.plans.test_kept_plans import TRIED
from tests.storage.jobs.plans.test_million_plans import HINT_TIMEOUT, LEASE, whole_reads

JOBS, BATCH = 10_000, 256

WAITING = {
    "backlog": "backlog_since = run_at, next_check_at = null",
    "due": "backlog_since = null, next_check_at = now() - interval '1 s'",
    "published": "backlog_since = null, next_check_at = now() + interval '30 s', published_at = now()",
    "parked": "backlog_since = null, next_check_at = null, parked_by = 'gate:queue:default'",
    "overdue": "backlog_since = null, next_check_at = now() - interval '1 s', state = 'running', attempt = 1,"
    " started_at = now(), claim_token = uuidv4(), worker_id = uuidv4(), claimed_at = now()",
}


@pytest.fixture(params=WAITING)
def waiting(request: pytest.FixtureRequest, settings: Settings, database: Connection) -> str:
    """A ledger all of whose jobs are in one waiting state."""
    store = Database(settings)
    org = make_org(database)
    make_job_type(store, "probe.run")
    for _ in range(0, JOBS, 1000):
        with store.ledger() as tx:
            jobs = [NewJob("probe.run", org, {}) for _ in range(1000)]
            ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)
    store.dispose()
    where: str = request.param
    database.execute(f"update jobs set {WAITING[where]}".encode())
    database.execute(
        "insert into idempotency_keys (org_id, key, kind, mode, status, job_id, expires_at)"
        " select %s, 'key ' || n, 'named', 'for_ttl', 'succeeded', uuidv7(), now() + interval '1 day'"
        " from generate_series(1, %s) n",
        (org, JOBS),
    )
    database.execute("vacuum analyze jobs, idempotency_keys")
    return where


@pytest.fixture
def owner(settings: Settings, waiting: str) -> Iterator[Connection]:
    assert waiting in WAITING
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        yield connection
        connection.rollback()


SUSPECTS = {"suspects_rest": SUSPECT_REST, "most_suspect": MOST_REFUSED_SUSPECTS}
DEMAND = ("queues", "priorities", "org_ids", "counts", "cursors")


def asked(owner: Connection, waiting: str, batch: int = BATCH) -> dict[str, dict[str, Any]]:
    """The statements that jobs in a waiting state meet, with their parameters."""
    rows = owner.execute("select id, claim_token, org_id from jobs order by id limit %s", (BATCH,)).fetchall()
    ids, tokens, org = [row[0] for row in rows[:batch]], [row[1] for row in rows[:batch]], rows[0][2]
    claiming = {"token": uuid4(), "worker_id": uuid4(), "lease": LEASE, "alone": False} | SUSPECTS
    hints = {"job_ids": ids} | {name: [] for name in DEMAND}
    place = {"queue": "default", "priority": 0, "org_ids": [org]}
    demand = {"job_ids": [], "queues": ["default"], "priorities": [0], "org_ids": [org]}
    listing = {"queue": "default", "priority": 0, "start": UUID(int=0), "last": LAST_ID, "most": 500}
    over_burst = {"queues": ["default"], "priorities": [0]}
    each = {
        "states": "succeeded", "run_ats": None, "attempt_deltas": 0, "loss_deltas": 0, "started_ats": None,
        "outputs": None, "errors": None, "costs": 0, "reasons": None, "details": None, "suspects": None,
        "return_deltas": 0, "gates": None, "children": None,
    }  # fmt: skip
    settling = {"job_ids": ids, "tokens": tokens, "hint_timeout": HINT_TIMEOUT, "burst": 20} | {
        name: [value] * batch for name, value in each.items()
    }
    settling |= Slots(20, ["default"], uuid4(), uuid4(), LEASE).as_parameters() | {"born_by": uuid4()}
    met: dict[str, dict[str, dict[str, Any]]] = {
        "backlog": {
            "claim_jobs": claiming | demand | {"counts": [BATCH], "cursors": []},
            "count_backlog": place | {"mosts": [4000]},
            "list_backlog": {"queues": ["default"]},
            "list_waiting_orgs": listing,
            "clear_over_burst": over_burst,
        },
        "due": {"publish_due": {"batch": 1000, "hint_timeout": HINT_TIMEOUT, "burst": 20}},
        "published": {"claim_jobs": claiming | hints, "recall_hints": {"batch": 1000}},
        "parked": {"unpark_jobs": {"names": ["gate:queue:default"], "rooms": [1000]}},
        "overdue": {"lock_lost_claims": {"batch": 1000}, "settle_jobs": settling},
    }
    return met[waiting]


@pytest.mark.parametrize("batch", [0, 1, BATCH])
def test_no_statement_over_a_batch_reads_all_jobs(owner: Connection, waiting: str, batch: int) -> None:
    for name, parameters in asked(owner, waiting, batch).items():
        owner.execute("set local plan_cache_mode = force_generic_plan")  # what a worker comes to after five calls
        with plans_of(owner) as reported:
            owner.execute(statement(name).encode(), parameters, prepare=True)
        assert reported
        assert whole_reads(reported) == set(), name


@pytest.mark.parametrize("waiting", ["overdue"], indirect=True)
def test_the_function_that_ends_claims_keeps_its_plan(owner: Connection) -> None:
    """A plan that is not kept names what was given, in the texts of auto_explain."""
    claims = owner.execute("select id, claim_token from jobs limit %s", (2 * TRIED,)).fetchall()
    owner.execute("set auto_explain.log_verbose = on")
    with plans_of(owner) as reported:
        for claim in claims:
            owner.execute("select * from postroom.settle_held(%s, %s, '{}', 0, now())", claim)
    told = [json.dumps(one["Plan"]) for one in reported if one["Query Text"].lstrip().startswith("with asked")]
    named = [str(job_id) in text for (job_id, _), text in zip(claims, told, strict=True)]
    assert named == [True] * TRIED + [False] * TRIED


def test_enqueueing_reads_no_jobs(owner: Connection, waiting: str) -> None:
    org = owner.execute("select org_id from jobs limit 1").fetchone()
    assert org is not None, waiting
    requests = [
        {"job_type": "probe.run", "org_id": str(org[0]), "payload": {}, "job_id": str(uuid4())} for _ in range(1000)
    ]
    with plans_of(owner) as reported:
        for _ in range(6):  # the last with the plan that is kept
            owner.execute("select * from postroom.enqueue_jobs(%s)", (Jsonb(requests),))
    assert whole_reads(reported) == set()

"""One SQL function leaves claims and ends jobs, and the database allows no other moves than the domain's table."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.job import FINAL, State
from domain.jobs.lifecycle import MOVES
from storage.jobs import recovery
from storage.postgres.database import Database
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, pass_time

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("storage", "engine", "tasks", "commands", "gateway", "providers", "domain", "observability")

UPDATE = re.compile(
    r"\bupdate\s+(?:only\s+)?(?:public\.)?jobs\b(?:\s+(?:as\s+)?(?!set\b)\w+)?\s+set\b(.*?)(?=\bfrom\s|\bwhere\b|;|\Z)",
    re.IGNORECASE | re.DOTALL,
)
ASSIGNED = re.compile(
    r"\b(state|finished_at|claim_token)\s*=\s*((?:case\b.*?\bend\b)|[^,]+)", re.IGNORECASE | re.DOTALL
)
TAKING = re.compile(
    r"\A\s*(?:case\b(?:(?!\belse\b).)*\bthen\s+)?'(?:running|claimed)'(?:\s+else\s+'(?:running|claimed)'\s+end)?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What a claim or a start sets the state to."""


def leaving_updates(sql: str) -> Iterator[str]:
    """The updates of `jobs` that end a job or take a claim from it."""
    for update in UPDATE.finditer(re.sub(r"--[^\n]*", "", sql)):
        for column, value in ASSIGNED.findall(update[1]):
            name = column.lower()
            takes = TAKING.match(value) if name == "state" else name == "claim_token" and "null" not in value.lower()
            if not takes:
                yield f"{name} = {value.strip()}"
                break


def test_one_statement_alone_writes_a_leaving_state() -> None:
    writers = {
        str(path.relative_to(ROOT)): len(found)
        for room in PRODUCT
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in {".sql", ".py"} and (found := list(leaving_updates(path.read_text(encoding="utf-8"))))
    }
    assert writers == {"storage/functions/endings.sql": 1}


@pytest.mark.parametrize(
    "sql",
    [
        "update jobs set state = 'canceled', finished_at = now() where id = $1",
        "update jobs j set progress = '{}', state = case j.state when 'queued' then 'canceled' else j.state end from x",
        "update public.jobs as j set claim_token = null, worker_id = null",
        "update jobs\n  set finished_at = now()\nwhere true",
    ],
)
def test_another_writer_would_be_found(sql: str) -> None:
    assert len(list(leaving_updates(sql))) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "update jobs j set state = 'running', attempt = attempt + 1 from free f where true",
        "update jobs set state = case when f.starts then 'running' else 'claimed' end, claim_token = $1 where true",
        "update jobs set progress = $1 where state = 'queued'",
        "update idempotency_keys k set status = 'failed' where true",
    ],
)
def test_a_claim_and_a_start_leave_nothing(sql: str) -> None:
    assert list(leaving_updates(sql)) == []


SHAPES = {
    **dict.fromkeys(
        (State.CLAIMED, State.RUNNING),
        "claim_token = uuidv4(), worker_id = uuidv4(), claimed_at = now(), started_at = now(), attempt = 1,"
        " finished_at = null, next_check_at = now()",
    ),
    **dict.fromkeys(
        FINAL,
        "claim_token = null, worker_id = null, claimed_at = null, finished_at = now(), next_check_at = null,"
        " error = '{}', cancel_reason = 'x'",
    ),
    State.QUEUED: "claim_token = null, worker_id = null, claimed_at = null, finished_at = null, next_check_at = now()",
}
"""What the table's own checks ask of a row in each state."""


@pytest.fixture
def job_id(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return enqueue_one(store, make_org(database))


def put(database: Connection, job_id: UUID, state: State) -> None:
    update = f"update jobs set state = '{state.value}', {SHAPES[state]} where id = %s"
    database.execute(update.encode(), (job_id,))


def is_refused(database: Connection, job_id: UUID, before: State, after: State) -> bool:
    """Whether the database refuses a move, in its own words."""
    try:
        put(database, job_id, after)
    except psycopg.ProgrammingError as error:
        return str(error).startswith(f"state: a job cannot go from {before.value} to {after.value}\n")
    return False


def test_the_database_allows_exactly_the_moves_of_the_domains_table(database: Connection, job_id: UUID) -> None:
    allowed = set()
    for before, after in product(State, State):
        if before is after:
            continue
        database.execute("set session_replication_role = replica")
        put(database, job_id, before)
        database.execute("delete from dead_letters")
        database.execute("set session_replication_role = default")
        if not is_refused(database, job_id, before, after):
            allowed.add((before, after))
    assert allowed == MOVES


def test_a_job_that_lost_its_last_attempt_but_is_no_poison_dies_of_its_loss(
    database: Connection, store: Database
) -> None:
    make_job_type(store, max_attempts=1)
    lost = enqueue_one(store, make_org(database))
    for _ in ("beside others", "alone"):
        claim_one(store, lost)
        pass_time(database, LEASE * 2)
        with store.ledger() as tx:
            assert recovery.rescue(tx, batch=10).job_ids == {lost}
    row = database.execute("select state, losses, error ->> 'code' from jobs where id = %s", (lost,)).fetchone()
    assert row == ("dead", 1, "lost")

"""Lists of an org's jobs: each shows the jobs of its states, and those for trouble and waiting jobs use an index."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import NewJob, Origin, State
from domain.jobs.lifecycle import Settlement
from storage.ledger import ledger
from storage.operators import org_jobs
from storage.operators.org_jobs import TROUBLED, UNFINISHED, OrgJobFilter, statement_for
from storage.postgres.database import Database
from storage.postgres.execution import numbered
from storage.postgres.queries import statement
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type

ENDS = [State.SUCCEEDED, State.FAILED, State.DEAD]


@pytest.fixture
def jobs(store: Database, org: UUID) -> dict[State, UUID]:
    """A job in each state."""
    make_job_type(store)
    made: dict[State, UUID] = {state: enqueue_one(store, org) for state in State if state is not State.CLAIMED}
    for state in [*ENDS, State.RUNNING]:
        job = claim_one(store, made[state])
        if state.final:
            error = None if state is State.SUCCEEDED else {"reason": "it broke"}
            with store.ledger() as tx:
                ledger.settle(tx, [Settlement(job.job_id, job.token, state, started_at=datetime.now(UTC), error=error)])
    with store.ledger() as tx:
        ledger.cancel(tx, [made[State.CANCELED]], "not needed", by=Origin())
    return made


@pytest.mark.parametrize(
    "states", [[], *[[state] for state in State], sorted(TROUBLED), sorted(UNFINISHED), list(State)]
)
def test_a_list_has_the_jobs_of_its_states(
    store: Database, org: UUID, jobs: dict[State, UUID], states: list[State]
) -> None:
    with store.tenant(org) as tx:
        rows = org_jobs.listed(tx, org, OrgJobFilter(states), after=None, limit=100)
    wanted = [job for state, job in jobs.items() if not states or state in states]
    assert {row.job_id for row in rows} == set(wanted)
    assert len(rows) == len(wanted)


@pytest.mark.parametrize(
    ("states", "indexes"),
    [(["failed", "canceled"], {"jobs_troubled"}), (["queued"], {"jobs_next_check", "jobs_backlog", "jobs_parked"})],
)
def test_a_list_reads_its_index_whatever_the_values(
    store: Database, org: UUID, database: Connection, states: list[str], indexes: set[str]
) -> None:
    make_job_type(store)
    with store.ledger() as tx:
        made = ledger.enqueue(
            tx, [NewJob("probe.run", org, {}) for _ in range(4000)], publisher=True, hint_timeout=HINT_TIMEOUT
        )
    # As if they had ended well: what the indexes are for is rare.
    ids = [job.job_id for job in made[100:]]
    database.execute("alter table jobs disable trigger user")
    database.execute(
        "update jobs set state = 'succeeded', finished_at = now(), next_check_at = null, backlog_since = null,"
        " parked_by = null where id = any (%s)",
        (ids,),
    )
    database.execute("vacuum analyze jobs")
    text, names = numbered(statement(statement_for(states)))
    types = {"org_id": "uuid", "states": "text[]", "job_type": "text", "last_id": "uuid", "limit": "int"}
    declared = ", ".join(types.get(name, "timestamptz") for name in names)
    database.execute("set plan_cache_mode = force_generic_plan")
    database.execute(f"prepare listing ({declared}) as {text.decode()}".encode())
    plan = str(database.execute(f"explain execute listing ({', '.join(['null'] * len(names))})".encode()).fetchall())
    assert all(index in plan for index in indexes), plan
    assert "Seq Scan" not in plan


def test_the_children_of_a_job_are_found_by_their_index(database: Connection) -> None:
    database.execute("set enable_seqscan = off")
    plan = database.execute(
        "explain select from jobs where parent_id = '00000000-0000-7000-8000-000000000001'"
    ).fetchall()
    assert "jobs_parent" in str(plan)

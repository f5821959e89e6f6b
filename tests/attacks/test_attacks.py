"""Attacks by a handler, through a worker's loop: each is refused, or reaches nobody (promise P6)."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from engine.enqueue import enqueue
from engine.runtime import Runtime
from settings import Settings
from storage.postgres.database import Database
from tests.attacks.attack_jobs import (
    FACTS,
    HARMLESS,
    OTHER_REFUSALS,
    RAISED,
    REFUSED,
    UNPRIVILEGED,
    AttackOrder,
    attack,
)
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.inline_worker import run_job
from tests.storage.postgres.row_makers import PROJECT_TABLES, ROW_MAKERS, fill_every_table, fill_project
from tests.storage.postgres.test_tenancy import rows_of

CLEAN = """
select array(select name || '=' || setting from pg_settings where source = 'session') as settings,
  array(select name from pg_prepared_statements where from_sql) as prepared,
  array(select name from pg_cursors where is_holdable) as cursors,
  array(select channel from pg_listening_channels() as channel) as channels,
  array(select locktype from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks,
  array(select relname::text from pg_class where relpersistence = 't') as tables,
  current_setting('mine.word', true) as word, current_user::text as role,
  (select count(distinct org_id) from accounts) as orgs
"""
UNTOUCHED = {"settings": [], "prepared": [], "cursors": [], "channels": [], "locks": [], "tables": [], "orgs": 1}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """One connection of the tenant's, so that the next org gets the attacker's."""
    return settings.model_copy(update={"database_pool_size": 1})


@pytest.fixture
def orgs(process: Runtime, database: Connection) -> Iterator[tuple[UUID, UUID]]:
    mine, theirs = fill_every_table(database, uuid4()), fill_every_table(database, uuid4())
    other_project = fill_project(database, mine["org"])
    make_job_type(process.database, "probe.run")
    their_claim = claim_one(process.database, enqueue_one(process.database, theirs["org"]))
    others = Database(process.settings)
    with others.tenant(theirs["org"]) as victim, others.ledger() as frame:
        pid = "select pg_backend_pid() as pid"
        FACTS.clear()
        FACTS.update(
            their_org=theirs["org"],
            their_account=theirs["account"],
            their_job=their_claim.job_id,
            their_token=their_claim.token,
            other_job=mine["job"],
            my_project=mine["project"],
            their_project=other_project["project"],
            their_person=other_project["person"],
            tenant_backend=victim.raw(pid)[0].pid,
            ledger_backend=frame.raw(pid)[0].pid,
        )
        yield mine["org"], theirs["org"]
        assert victim.raw("select 1 as alive")[0].alive
        assert frame.raw("select 1 as alive")[0].alive
    others.dispose()


def run(process: Runtime, org: UUID, name: str, *, settling: bool, project: UUID | None = None) -> str:
    """Run one attack as a job of an org, or of a project of it; returns what became of the job."""
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, AttackOrder(name=name, settling=settling), org_id=org, project_id=project)
    return run_job(process, attack, made.job_id)


def everything_of_their_project(database: Connection) -> list[object]:
    found: list[object] = []
    for table in PROJECT_TABLES:
        column = "id" if table == "projects" else "project_id"
        query = f"select to_jsonb(t)::text from {table} t where {column} = %s"  # own names
        found += database.execute(query.encode(), (FACTS["their_project"],)).fetchall()
    return found


def everything_of(database: Connection, org: UUID) -> dict[str, list[str]]:
    return {table: rows_of(database, table, org) for table in ROW_MAKERS}


def check_the_next(process: Runtime, database: Connection, org: UUID, *, after: str = "all") -> None:
    """The next handler of another org finds a session as new, and works in it."""
    with process.database.tenant(org) as tx:
        found = tx.raw(CLEAN)[0]._asdict()
        ours = [one for one in found.pop("settings") if not one.startswith("postroom.org")]
        assert {**found, "settings": ours} == UNTOUCHED | {"word": found["word"], "role": "postroom_tenant"}, after
        assert not found["word"], after
        assert tx.raw("select 1 from accounts where org_id <> %(org)s", {"org": org}) == []
        tx.raw("update accounts set full_synced_at = now()")
    assert run(process, org, "own_event", settling=True) == "succeeded", after
    noted = database.execute(
        "select distinct actor_type, actor_id, at > now() - interval '1 hour', id %% 2 from audit_entries"
        " where event = 'attack.noted' and org_id = %s",
        (org,),
    ).fetchall()
    assert noted == [("system", "postroom", True, 0)]


ENDED_WITHOUT_SUCCESS = {"failed", "queued", "dead", "returned"}
"""`returned`: the database answered that the claim is lost."""


def other_refusals() -> dict[str, str | None]:
    """The attacks that something else refused than what should: a mistake in its statement is no refusal."""
    return {name: RAISED[name] for name in RAISED if RAISED[name] != OTHER_REFUSALS.get(name, UNPRIVILEGED)}


def test_an_attack_that_fails_by_its_own_mistake_is_seen(
    process: Runtime, monkeypatch: pytest.MonkeyPatch, orgs: tuple[UUID, UUID]
) -> None:
    RAISED.clear()
    monkeypatch.setitem(REFUSED, "mistaken", lambda tx, _facts: tx.raw("select * from acounts"))
    assert run(process, orgs[0], "mistaken", settling=False) in ENDED_WITHOUT_SUCCESS
    assert other_refusals() == {"mistaken": "42P01"}


def test_each_attack_is_refused(process: Runtime, database: Connection, orgs: tuple[UUID, UUID]) -> None:
    """In one process, as in production: each attack finds what the ones before it have left."""
    RAISED.clear()
    mine, theirs = orgs
    before, job = everything_of(database, theirs), "select * from jobs where id = %s"
    other_job = database.execute(job, (FACTS["other_job"],)).fetchone()
    other_project = everything_of_their_project(database)
    went_through = [
        (name, settling)
        for name in REFUSED
        for settling in (False, True)
        if run(process, mine, name, settling=settling, project=FACTS["my_project"]) not in ENDED_WITHOUT_SUCCESS
    ]
    assert went_through == []
    assert other_refusals() == {}
    assert database.execute(job, (FACTS["other_job"],)).fetchone() == other_job
    assert everything_of(database, theirs) == before
    assert everything_of_their_project(database) == other_project
    assert database.execute("select count(*) from audit_log where event = 'attack.noted'").fetchone() == (0,)
    check_the_next(process, database, theirs)


@pytest.mark.parametrize("settling", [False, True])
def test_what_a_handler_may_do_to_its_session_reaches_nobody(
    process: Runtime, database: Connection, orgs: tuple[UUID, UUID], *, settling: bool
) -> None:
    mine, theirs = orgs
    before = everything_of(database, theirs)
    for name in HARMLESS:
        run(process, mine, name, settling=settling)
        changed = [table for table, rows in everything_of(database, theirs).items() if rows != before[table]]
        assert changed == [], name
        check_the_next(process, database, theirs, after=name)
        before = everything_of(database, theirs)


def test_what_a_role_sets_for_itself_does_not_reach_a_new_session(
    process: Runtime, database: Connection, orgs: tuple[UUID, UUID]
) -> None:
    mine, theirs = orgs
    try:
        run(process, mine, "alters_its_own_role", settling=False)
        process.database.dispose()
        check_the_next(process, database, theirs)
    finally:
        database.execute("alter role postroom_tenant reset all")


@pytest.mark.parametrize("name", ["search_path", "timeouts", "time_zone", "lock_timeout", "array_nulls", "role"])
def test_what_a_handler_sets_does_not_reach_the_settlement_in_its_transaction(
    process: Runtime, database: Connection, monkeypatch: pytest.MonkeyPatch, orgs: tuple[UUID, UUID], name: str
) -> None:
    if name == "timeouts":
        database.execute(SLOW_SETTLEMENT)
    monkeypatch.setitem(HARMLESS, "local", lambda tx, _facts: tx.raw(LOCAL[name]))
    assert run(process, orgs[0], "local", settling=True) == "succeeded"


SLOW_SETTLEMENT = """
create function test_slowly() returns trigger language plpgsql as 'begin perform pg_sleep(0.4); return new; end';
create trigger slowly before update on jobs for each row when (new.state = 'succeeded') execute function test_slowly();
"""

LOCAL = {
    "search_path": "set local search_path = pg_catalog",
    "timeouts": "set local statement_timeout = 200",
    "time_zone": "set local timezone = 'Asia/Kathmandu'",
    "lock_timeout": "set local lock_timeout = 1",
    "array_nulls": "set local array_nulls = off",
    "role": "set local role postroom_tenant",
}


@pytest.mark.parametrize("name", ["left_transaction", "left_rollback"])
def test_a_handler_that_ends_its_transaction_is_not_settled_in_another(
    process: Runtime, database: Connection, orgs: tuple[UUID, UUID], name: str
) -> None:
    assert run(process, orgs[0], name, settling=True) == "failed"
    assert database.execute("select error ->> 'reason' from jobs where job_type = 'attack_jobs.attack'").fetchone() == (
        "a handler's statement ended its transaction",
    )

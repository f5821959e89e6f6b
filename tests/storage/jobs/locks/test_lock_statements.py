"""No statement and no function locks several jobs in an order of its own (docs: life-of-a-job.md#locks-on-jobs)."""

import ast
from collections.abc import Iterator

import pytest
from psycopg import Connection

from storage.postgres import queries
from tests.house.reading import ROOT
from tests.storage.jobs.locks.lock_statements import locks_of, misfits

PRODUCT = ("storage", "engine", "tasks", "commands", "gateway")

REASONS = {
    "lock_claims": "the rows are locked already, by postroom.lock_free",
    "postroom.cancel_node_jobs": "the rows are locked already, by postroom.lock_free",
    "lock_lost_claims": "the rows are locked already, by the query in its array",
    "postroom.leave_claims": "its callers hold the rows, or give them by their ids: `ledger.settle` sorts them",
}


def statements() -> Iterator[tuple[str, str]]:
    """Every statement of the product by its place; migrations and functions aside, which are read from a database."""
    yield from queries.statements().items()
    for room in PRODUCT:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " jobs " in node.value:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def functions(database: Connection) -> Iterator[tuple[str, str]]:
    """Every function of a migrated database."""
    query = "select proname, prosrc from pg_proc where pronamespace = 'postroom'::regnamespace order by oid"
    for name, body in database.execute(query).fetchall():
        yield f"postroom.{name}", body


def test_every_statement_and_function_keeps_to_the_rule(database: Connection) -> None:
    read = [*statements(), *functions(database)]
    found = {place: wrong for place, sql in read if (wrong := misfits(sql))}
    assert {place: wrong for place, wrong in found.items() if place not in REASONS} == {}
    assert set(REASONS) == set(found), "a reason that is not needed any more"
    # What is looked at is what is meant.
    locking = {place for place, sql in read if list(locks_of(sql))}
    assert {
        "cancel_jobs", "claim_jobs", "return_claims", "ask_results", "lock_jobs_to_retry", "postroom.hold_claim",
        "postroom.cancel_wake", "postroom.start_jobs", "postroom.call_waiters", "postroom.free_slots",
    } <= locking  # fmt: skip
    assert any(place.startswith("storage/jobs/ledger.py:") for place in locking)


@pytest.mark.parametrize(
    "sql",
    [
        "select id from jobs where id = any (%(ids)s) for update",
        "select id from jobs where id = any (%(ids)s) order by id desc for update",
        "select id from jobs where state = 'queued' order by next_check_at limit %(most)s for no key update",
        "select j.id from orgs o join jobs j on j.org_id = o.id where o.id = %(org)s order by j.run_at for share of j",
        "with a as (select id from jobs where id = any (%(ids)s) for share) select from a order by id",
        "update jobs set priority = 1 where org_id = %(org)s",
        "update jobs j set priority = 1 from unnest(%(ids)s::uuid[]) as a (id) where j.id = a.id",
        "delete from public.jobs where finished_at < now()",
        "with a as (select id from jobs order by id), b as (update jobs j set x = 1 from a where j.id = a.id) select 1",
        "perform postroom.hold_claim(held_job, token); perform from jobs where id = other for update;",
        "perform postroom.hold_claim(held_job, token); update jobs set priority = 1 where id = other;",
    ],
)
def test_another_way_would_be_found(sql: str) -> None:
    assert len(misfits(sql)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "select id from jobs j where j.id = any (%(ids)s) -- ours\n order by j.id for update",
        "select id from jobs where id = any (%(ids)s) for update skip locked",
        "select id from jobs where id = %(id)s for update",
        "with a as (select id from jobs order by id for update), b as (select id from a) update jobs set x = 1 from b",
        "update jobs set x = 1 where id = any (array(select id from jobs where y limit 3 for update skip locked))",
        "delete from workers where id in (select id from workers for update); select id from jobs",
        "select k.key from idempotency_keys k join jobs j on j.id = k.job_id for update of k",
        "perform postroom.hold_claim(held_job, token); update jobs set x = 1 where id = held_job;",
        "perform from jobs where id = held_job for share; select * into other from jobs where id = o for share nowait;",
    ],
)
def test_what_keeps_to_the_rule_is_not_found(sql: str) -> None:
    assert misfits(sql) == []

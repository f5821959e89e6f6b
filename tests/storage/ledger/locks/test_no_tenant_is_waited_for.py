"""What serves all orgs waits for no tenant's row: each statement is run while another org's rows are locked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import pytest
from psycopg import Connection, connect, errors
from psycopg.types.json import Jsonb

from domain.jobs.failures import Failure
from storage.postgres import queries
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseError, StatementAborted, numbered
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, pass_time
from tests.doubles.mail_factories import make_account

OF_ONE_ORG = frozenset(
    {"org_id", "of_org", "for_org", "account_id", "job_id", "id", "held_job", "source", "letter_id", "user_id", "email"}
)
"""Parameters that name one row, or the org of all rows: whoever gives them serves that org, and waits briefly."""

REASONS = {
    "settle_jobs": "the settlements of a batch that had to wait are written again, without those that are locked",
    "fan_out_to_accounts": "a part of which a key is locked is done org by org",
    "cancel_jobs": "its caller names the jobs, of one org",
    "enqueue_jobs": "is called for one org, or by who tries again apart",
    "ask_results": "the messages of a batch that had to wait are written one by one",
    "postroom.leave_claims": "is called for `settle_jobs`, or for jobs that the caller has locked",
    "postroom.enqueue_jobs": "is called for one org, or by who tries again apart",
}

WORDS = {"type": "probe.run", "queue": "default", "state": "canceled"}
"""A text parameter's value by a part of its name."""

SERVE_ALL = frozenset({
    "claim_jobs", "start_jobs", "end_unclaimed", "lock_free_jobs", "lock_lost_claims", "return_claims", "list_expired",
    "publish_due", "unpark_jobs", "recall_hints", "take_due_schedule", "delete_finished_jobs", "purge_expired_keys",
    "mark_unknown",
})  # fmt: skip
"""What must have been run to its end, so that the walk shows something."""

LAST_ID = UUID(int=2**128 - 1)
LATEST, EARLIEST = datetime(2100, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)


class Tenant:
    """An org with jobs in every state of waiting, under guards, and an account."""

    def __init__(self, store: Database, database: Connection) -> None:
        make_job_type(store, unique_mode="while_active", unique_fields=("n",), serial_field="n")
        account = make_account(store)
        self.org_id, self.account_id = account.org_id, account.account_id
        self.queued, self.parked, self.lost, self.held, self.expired = (
            enqueue_one(store, self.org_id, payload={"n": n}) for n in range(5)
        )
        self.token = claim_one(store, self.lost).token
        pass_time(database, timedelta(hours=1))
        park = "update jobs set expires_at = now(), parked_by = 'key:x', published_at = null, next_check_at = null"
        database.execute(f"{park} where id = %s".encode(), (self.parked,))
        database.execute("update jobs set expires_at = now() where id = %s", (self.expired,))
        claim_one(store, self.held)
        self.request = {"job_type": "probe.run", "org_id": str(self.org_id), "payload": {"n": 0}}

    @contextmanager
    def locked(self, database_url: str) -> Iterator[None]:
        """A foreign transaction holds each of its guards, its jobs and its account."""
        with connect(database_url) as foreign:
            for table, column in (
                ("idempotency_keys", "org_id"),
                ("jobs", "org_id"),
                ("accounts", "org_id"),
                ("orgs", "id"),
            ):
                lock = "no key update" if table == "orgs" else "update"
                foreign.execute(f"select from {table} where {column} = %s for {lock}".encode(), (self.org_id,))
            yield

    def value(self, name: str, kind: str) -> object:
        """A value for a parameter, by its name and type, that leads to the locked rows."""
        jobs = [self.queued, self.parked, self.lost, self.held, self.expired]
        if kind.endswith("[]"):
            inner = kind.removesuffix("[]")
            if inner == "uuid" and "org" not in name and "token" not in name:
                return jobs
            return [self.value(name.removesuffix("s"), inner)] * len(jobs)
        ids = {"org_id": self.org_id, "account_id": self.account_id, "after": UUID(int=0), "upto": LAST_ID}
        values: dict[str, object] = {
            "uuid": ids.get(name, self.token if "token" in name else self.lost),
            "timestamp with time zone": EARLIEST if name in {"since", "after", "reached"} else LATEST,
            "interval": timedelta(seconds=60 if name in {"lease", "hint_timeout"} else 0),
            "jsonb": Jsonb([self.request] if name == "requests" else {"n": 0}),
            "text": next((word for part, word in WORDS.items() if part in name), "x"),
            "integer": 1000,
            "bigint": 1000,
            "bytea": b"x",
            "boolean": True,
            "date": LATEST.date(),
        }
        return values.get(kind, 1)


@pytest.fixture
def tenant(store: Database, database: Connection) -> Tenant:
    return Tenant(store, database)


class Walked(NamedTuple):
    """How a statement ends: `done`, `waits`, or the name of an error."""

    name: str
    end: str
    parameters: frozenset[str]


def types_of(tx: Transaction, text: str) -> list[str]:
    """The types of a statement's parameters, as PostgreSQL finds them out."""
    tx.raw(f"prepare walked as {text}")
    rows = tx.raw("select parameter_types::text[] as types from pg_prepared_statements where name = 'walked'")
    tx.raw("deallocate walked")
    return list(rows[0].types)


def walked_texts(tx: Transaction) -> dict[str, str]:
    """Each statement of the product, and a call of each function that the ledger may call."""
    functions = tx.raw(
        "select 'postroom.' || proname as name, proargnames[1:pronargs] as names,"
        " proargtypes::regtype[]::text[] as types"
        " from pg_proc p where pronamespace = 'postroom'::regnamespace and prokind = 'f'"
        " and prorettype <> 'trigger'::regtype and has_function_privilege('postroom_ledger', p.oid, 'execute')"
    )
    calls = {}
    for function in functions:
        named = zip(function.names or (), function.types, strict=False)
        calls[function.name] = (
            f"select * from {function.name}({', '.join(f'%({name})s::{kind}' for name, kind in named)})"
        )
    return {**queries.statements(), **calls}


def run_undone(store: Database, tenant: Tenant, sql: str, text: str, names: Sequence[str]) -> None:
    """Run a statement with values that lead to the locked rows, and undo what it did."""
    with store.ledger() as tx:
        types = types_of(tx, text)
        tx.raw("set local lock_timeout = '1ms'")
        tx.raw(sql, {one: tenant.value(one, kind) for one, kind in zip(names, types, strict=True)})
        tx.raw("rollback and chain")


def walk(store: Database, tenant: Tenant) -> Iterator[Walked]:
    """How each ends that may meet locked rows."""
    with store.ledger() as tx:
        texts = walked_texts(tx)
    for name, sql in texts.items():
        text, names = numbered(sql)
        end = "done"
        try:
            run_undone(store, tenant, sql, text.decode(), names)
        except StatementAborted as aborted:
            end = "waits" if isinstance(aborted.__cause__, errors.LockNotAvailable) else "aborted"
        except (Failure, DatabaseError) as refused:
            end = type(refused).__name__
        yield Walked(name, end, frozenset(names))


def test_no_statement_that_serves_all_orgs_waits_for_a_tenants_row(
    store: Database, tenant: Tenant, database_url: str
) -> None:
    with tenant.locked(database_url):
        found = list(walk(store, tenant))
    waiting = {one.name: one.parameters for one in found if one.end == "waits"}
    assert {name for name, given in waiting.items() if name not in REASONS and not given & OF_ONE_ORG} == set()
    assert set(REASONS) <= waiting.keys(), "a reason that is not needed any more"
    assert {one.name for one in found if one.end == "done"} >= SERVE_ALL


@pytest.mark.parametrize("opened", ["ledger", "statements", "pinned"])
def test_the_ledger_role_waits_for_no_lock_for_as_long_as_a_second(
    store: Database, tenant: Tenant, database_url: str, opened: str
) -> None:
    with tenant.locked(database_url), pytest.raises(StatementAborted), getattr(store, opened)() as tx:
        began = tx.raw("select clock_timestamp() as at")[0].at
        with pytest.raises(StatementAborted):
            tx.raw("select from jobs for update")
        ended = database_time(database_url)
        assert ended - began < timedelta(seconds=1)
        raise StatementAborted("as the caller sees it")


def database_time(database_url: str) -> datetime:
    with connect(database_url) as other:
        ((at,),) = other.execute("select clock_timestamp()").fetchall()
    return datetime.fromisoformat(str(at))

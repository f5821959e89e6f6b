"""What serves all orgs waits for no tenant's row: each statement is run while another org's rows are locked."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, connect, errors
from psycopg.types.json import Jsonb

from domain.jobs.failures import Failure
from engine.runtime import Runtime
from storage.postgres import queries
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseError, StatementAborted, numbered
from storage.retentions import RETENTIONS
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, pass_time
from tests.storage.postgres.row_makers import fill_every_table

REASONS = {
    "settle_jobs": "the settlements of a batch that had to wait are written again, org by org, without locked jobs",
    "fan_out_to_accounts": "a part that had to wait is done org by org",
    "enqueue_jobs": "is called for one org, or by who tries again org by org",
    "ask_results": "the messages of a batch that had to wait are written org by org",
    "cancel_jobs": "a person names the jobs; descendants of many orgs are canceled org by org",
    "date_approvals": "its caller names the actions, of one account",
    "expire_approvals": "actions of a batch that had to wait are ended org by org",
    "lock_jobs_to_retry": "a person names the job; a bulk action names those that `lock_free_jobs` has locked",
    "mark_reminders": "the same for those that are reminded of",
    "mark_unknown": "the effects of a batch that had to wait are looked at org by org",
    "postroom.leave_claims": "is called for `settle_jobs`, or for jobs that the caller has locked",
    "postroom.enqueue_jobs": "is called for one org, or by who tries again org by org",
}
"""What is given rows of several orgs and may wait: who calls it then does the same org by org."""

WORDS = {"type": "probe.run", "queue": "default", "email": "me@example.com"}
"""A text parameter's value by a part of its name; the same mailbox is connected in both orgs."""

ENDS = ("canceled", "canceled", "dead", "succeeded", "canceled")
"""The states in which the jobs of an org are settled, in turn: a job that is not claimed can only be canceled."""

SERVE_ALL = frozenset({
    "claim_jobs", "start_jobs", "end_unclaimed", "lock_free_jobs", "lock_lost_claims", "return_claims", "list_expired",
    "publish_due", "unpark_jobs", "recall_hints", "take_due_schedule", "delete_finished_jobs", "purge_expired_keys",
    "expected_writes", "api_requests", "label_corrections", "end_overdue_consents", "list_overdue_approvals",
    "forget_workers",
})  # fmt: skip
"""What must have been run to its end, so that the walk shows something."""

LAST_ID = UUID(int=2**128 - 1)
LATEST, EARLIEST = datetime(2100, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)
NULLABLE = re.compile(r"%\((\w+)\)s(?:::[\w\[\]]+)? is null")
GUARD_LOCK = 4711
"""The key of the lock for which each new guard of the locked org waits, as if another session had just taken it."""

OVERDUE = {
    "accounts": "status = 'active', sealed_refresh_token = 'x'",
    "actions": "state = 'approved_pending', reasons = '{x}', created_at = now() - interval '9 days',"
    " approval_expires_at = now() + case when kind = 'undo' then interval '0' else '1 day' end",
    "api_requests": "expires_at = now() - interval '1 day'",
    "expected_writes": "created_at = now() - interval '2 days', expires_at = now() - interval '1 day'",
    "idempotency_keys": "expires_at = now() - interval '1 day'",
}
"""What makes the rows of an org such that the fleet's housekeeping does something about them."""


class Tenant:
    """An org with a row in each table, and jobs in every state of waiting, under guards."""

    def __init__(self, store: Database, database: Connection) -> None:
        ids = fill_every_table(database, uuid4())
        self.org_id, self.account_id = ids["org"], ids["account"]
        database.execute("set session_replication_role = replica")  # without triggers, which know how rows come about
        for table, is_due in OVERDUE.items():
            database.execute(f"update {table} set {is_due} where org_id = %s".encode(), (self.org_id,))
        effect = (
            "insert into idempotency_keys"
            " (org_id, key, kind, mode, status, job_id, owner_token, expires_at, last_seen_at)"
            " select org_id, key, 'effect', 'find', 'running', uuidv7(), uuidv7(), 'infinity', now() - interval '1 day'"
            " from idempotency_keys where org_id = %s"
        )
        database.execute(effect, (self.org_id,))
        database.execute("reset session_replication_role")
        actions = database.execute("select id from actions where org_id = %s", (self.org_id,)).fetchall()
        self.actions = [action_id for (action_id,) in actions]
        self.jobs = [enqueue_one(store, self.org_id, payload={"n": n}) for n in range(5)]
        self.queued, self.parked, self.lost, self.held, self.expired = self.jobs
        self.tokens: list[UUID | None] = [None] * 5
        self.tokens[2] = claim_one(store, self.lost).token
        pass_time(database, timedelta(hours=1))
        park = "update jobs set expires_at = now(), parked_by = 'key:x', published_at = null, next_check_at = null"
        database.execute(f"{park} where id = %s".encode(), (self.parked,))
        database.execute("update jobs set expires_at = now() where id = %s", (self.expired,))
        self.tokens[3] = claim_one(store, self.held).token
        self.request = {"job_type": "probe.run", "org_id": str(self.org_id), "payload": {"n": 0}}


class Tenants(NamedTuple):
    """One whose rows a foreign transaction holds, and one for which a statement is run."""

    locked: Tenant
    free: Tenant

    def value(self, name: str, kind: str) -> object:
        """A parameter's value by its name and type: an array is of both orgs, all else of the free one."""
        if kind.endswith("[]"):
            return self.several(name, kind.removesuffix("[]"))
        free = self.free
        ids = {"after": UUID(int=0), "upto": LAST_ID, "account_id": free.account_id}
        values: dict[str, object] = {
            "uuid": ids.get(name, free.org_id if "org" in name else free.tokens[2] if "token" in name else free.lost),
            "timestamp with time zone": EARLIEST if name in {"since", "after", "reached"} else LATEST,
            "interval": timedelta(seconds=60 if name in {"lease", "hint_timeout"} else 0),
            "jsonb": Jsonb([one.request for one in self] if name == "requests" else {"n": 0}),
            "text": next((word for part, word in WORDS.items() if part in name), str(free.org_id)),
            "integer": 1000,
            "bigint": 1000,
            "bytea": b"x",
            "boolean": True,
            "date": LATEST.date(),
        }
        return values.get(kind, 1)

    def several(self, name: str, kind: str) -> Sequence[object]:
        """As many values as there are jobs, those of a row at the same place; no org is left out."""
        if name in {"besides", "gates"}:
            return []
        if name == "action_ids":
            return [action_id for one in self for action_id in one.actions]
        jobs = [(one, place) for one in self for place in range(len(one.jobs))]
        if kind == "uuid":
            return [
                one.org_id if "org" in name else one.tokens[place] if "token" in name else one.jobs[place]
                for one, place in jobs
            ]
        if name in {"children", "states"}:
            return [Jsonb([one.request]) if kind == "jsonb" else ENDS[place] for one, place in jobs]
        if name == "keys":
            return [str(one.org_id) for one, _ in jobs]
        return [self.value(name.removesuffix("s"), kind)] * len(jobs)


@contextmanager
def rows_locked(database_url: str, org_id: UUID) -> Iterator[None]:
    """A foreign transaction holds each row of the org that a tenant's can lock: its own, and those of its jobs."""
    with connect(database_url) as foreign:
        tables = foreign.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
            " and (has_any_column_privilege('postroom_tenant', oid, 'update')"
            "   or has_table_privilege('postroom_tenant', oid, 'delete'))"
        ).fetchall()
        for table in ("jobs", "idempotency_keys", "effect_jobs", *(str(name) for (name,) in tables)):
            foreign.execute(f"select from {table} where org_id = %s for update".encode(), (org_id,))
        foreign.execute("select from orgs where id = %s for no key update", (org_id,))
        yield


@contextmanager
def guards_taken(database_url: str, org_id: UUID) -> Iterator[None]:
    """A foreign transaction has just taken each guard of the org that there is not yet, and has not committed."""
    with connect(database_url, autocommit=True) as owner, connect(database_url) as foreign:
        owner.execute(
            "create function wait_for_guard() returns trigger language plpgsql as"
            f" $$ begin perform pg_advisory_xact_lock({GUARD_LOCK}); return new; end $$".encode()
        )
        owner.execute(
            "create trigger wait_for_guard before insert on idempotency_keys for each row"
            f" when (new.org_id = '{org_id}') execute function wait_for_guard()".encode()
        )
        foreign.execute("select pg_advisory_xact_lock(%s)", (GUARD_LOCK,))
        yield


@pytest.fixture
def tenants(process: Runtime, database: Connection) -> Tenants:
    """Two, in a fleet that has published its job types."""
    store = process.database
    make_job_type(store, unique_mode="while_active", unique_fields=("n",), serial_field="n")
    return Tenants(Tenant(store, database), Tenant(store, database))


class Walked(NamedTuple):
    """How a statement ends: `done`, `waits`, or the name of an error."""

    name: str
    end: str


def types_of(tx: Transaction, text: str) -> list[str]:
    """The types of a statement's parameters, as PostgreSQL finds them out."""
    tx.raw(f"prepare walked as {text}")
    rows = tx.raw("select parameter_types::text[] as types from pg_prepared_statements where name = 'walked'")
    tx.raw("deallocate walked")
    return list(rows[0].types)


def walked_texts(tx: Transaction) -> dict[str, str]:
    """Each statement of the product, each retention's, and a call of each function that the ledger may call."""
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
    return {**queries.statements(), **{one.table: one.statement() for one in RETENTIONS}, **calls}


def run_undone(store: Database, tenants: Tenants, sql: str, *, for_all: bool) -> str:
    """Run a statement for the free org, or for all where that is asked for by NULL, and undo it; returns its end."""
    text, names = numbered(sql)
    omitted = set(NULLABLE.findall(sql)) if for_all else set()
    try:
        with store.ledger() as tx:
            types = types_of(tx, text.decode())
            tx.raw("set local lock_timeout = '1ms'")
            values = {
                name: None if name in omitted else tenants.value(name, kind)
                for name, kind in zip(names, types, strict=True)
            }
            tx.raw(sql, values)
            tx.raw("rollback and chain")
    except StatementAborted as aborted:
        return "waits" if isinstance(aborted.__cause__, errors.LockNotAvailable) else "aborted"
    except (Failure, DatabaseError) as refused:
        return type(refused).__name__
    return "done"


def walk(store: Database, tenants: Tenants) -> Iterator[Walked]:
    """How each statement ends for the free org, and for all where it can be run so."""
    with store.ledger() as tx:
        texts = walked_texts(tx)
    for name, sql in texts.items():
        yield Walked(name, run_undone(store, tenants, sql, for_all=False))
        if NULLABLE.search(sql):
            yield Walked(name, run_undone(store, tenants, sql, for_all=True))


@pytest.mark.parametrize("held", [rows_locked, guards_taken])
def test_no_statement_waits_for_the_row_of_a_tenant_that_it_is_not_run_for(
    process: Runtime, tenants: Tenants, database_url: str, held: Callable[[str, UUID], AbstractContextManager[None]]
) -> None:
    with held(database_url, tenants.locked.org_id):
        found = list(walk(process.database, tenants))
    waiting = {one.name for one in found if one.end == "waits"}
    assert waiting - set(REASONS) == set()
    done = {one.name for one in found if one.end == "done"}
    assert done >= SERVE_ALL
    if held is rows_locked:
        assert set(REASONS) <= waiting, "a reason that is not needed any more"
    else:
        assert {"settle_jobs", "fan_out_to_accounts", "enqueue_jobs"} <= waiting
        assert "postroom.leave_claims" in done, "what the ledger enqueues itself has no guard"


@pytest.mark.parametrize("opened", ["ledger", "statements", "pinned"])
def test_the_ledger_role_waits_for_no_lock_for_as_long_as_a_second(
    process: Runtime, tenants: Tenants, database_url: str, opened: str
) -> None:
    store, org_id = process.database, tenants.locked.org_id
    with rows_locked(database_url, org_id), pytest.raises(StatementAborted), getattr(store, opened)() as tx:
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

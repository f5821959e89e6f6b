"""An org whose handler keeps its transaction open is left for later; the housekeeping of all others goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.effects import Strategy
from domain.jobs.job import SYSTEM_ORG
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.payloads.approvals import ExpirePayload, ShowOutcomePayload
from domain.payloads.maintenance import PurgeExpiredKeysPayload, ReconcileEffectsPayload, ResolveEffectPayload
from domain.payloads.payload import Payload
from engine.catalogue import Job
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.approvals import approvals
from storage.jobs import effects
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from tasks.approvals.approvals import expire
from tasks.jobs.maintenance import purge_expired_keys, reconcile_effects
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.inline_worker import run_job
from tests.doubles.mail_factories import make_account, store_message
from tests.storage.postgres.row_makers import fill_every_table


class Orgs(NamedTuple):
    """The one whose handler holds its transaction open, and another."""

    held: Account
    free: Account


@pytest.fixture
def orgs(process: Runtime) -> Orgs:
    return Orgs(*(make_account(process.database, org=word, email=f"{word}@example.com") for word in ("held", "free")))


@contextmanager
def enqueued_by_handler(process: Runtime, org_id: UUID, payload: Payload) -> Iterator[None]:
    """A handler of the org has enqueued this job, and has not committed."""
    with process.database.tenant(org_id) as tx:
        tx.raw(
            "select postroom.enqueue(%(type)s, %(org)s, %(payload)s::jsonb)",
            {"type": payload.declaration.job_type, "org": org_id, "payload": payload.model_dump_json()},
        )
        yield


def run(process: Runtime, database: Connection, job: Job[Any], payload: Payload) -> dict[str, int]:
    """Run a job of the fleet once; returns its output."""
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, payload, org_id=SYSTEM_ORG)
    assert run_job(process, job, made.job_id) == "succeeded"
    row = database.execute("select output from jobs where id = %s", (made.job_id,)).fetchone()
    assert row is not None
    output: dict[str, int] = row[0]
    return output


def overdue_action(process: Runtime, account: Account) -> UUID:
    """An action that nobody has decided about in time."""
    store_message(process.database, account)
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("it is dangerous",))
    with process.database.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        ask = partial(enqueue, org_id=account.org_id)
        approvals.request(tx, account.account_id, [made], ask, lasts=timedelta(0))
    return made


def test_actions_expire_for_every_org_but_the_one_that_is_held(
    process: Runtime, database: Connection, orgs: Orgs
) -> None:
    held, free = (overdue_action(process, account) for account in orgs)
    shown = ShowOutcomePayload(account_id=orgs.held.account_id, approval_id=held)
    states = "select id, state from actions"
    with enqueued_by_handler(process, orgs.held.org_id, shown):
        output = run(process, database, expire, ExpirePayload())
        assert output == {"expired": 1, "reminded": 0, "orgs_put_off": 1}
        assert dict(database.execute(states).fetchall()) == {held: "approved_pending", free: "expired"}
    assert run(process, database, expire, ExpirePayload())["expired"] == 1
    assert dict(database.execute(states).fetchall()) == {held: "expired", free: "expired"}


def doubt(process: Runtime, database: Connection, account: Account) -> str:
    """An effect that a canceled job has left in doubt, and that Discord can be asked about."""
    store, payload = process.database, {"account_id": str(account.account_id), "approval_id": str(account.org_id)}
    job = claim_one(store, enqueue_one(store, account.org_id, "approvals.notify", payload=payload))
    key = f"approval:{account.org_id}:0"
    with store.statements() as tx:
        effects.begin_effect(tx, job, key, Strategy.FIND)
    end = (
        "update jobs set state = 'canceled', finished_at = now(), claim_token = null, worker_id = null,"
        " next_check_at = null, cancel_requested_at = now(), cancel_reason = 'x' where id = %s"
    )
    database.execute(end, (job.job_id,))
    return key


def test_doubts_are_asked_about_for_every_org_but_the_one_that_is_held(
    process: Runtime, database: Connection, orgs: Orgs
) -> None:
    key, _ = (doubt(process, database, account) for account in orgs)
    asked = "select org_id from jobs where job_type = 'maintenance.resolve_effect'"
    question = ResolveEffectPayload(key=key, account_id=orgs.held.account_id)
    with enqueued_by_handler(process, orgs.held.org_id, question):
        output = run(process, database, reconcile_effects, ReconcileEffectsPayload())
        assert output == {"asked": 1, "told": 0, "put_off": 1}
        assert database.execute(asked).fetchall() == [(orgs.free.org_id,)]
    output = run(process, database, reconcile_effects, ReconcileEffectsPayload())
    assert output == {"asked": 0, "told": 0}, "the handler has asked"
    assert len(database.execute(asked).fetchall()) == 2


OVERDUE = {
    "expected_writes": "created_at = now() - interval '400 days', expires_at = now() - interval '399 days'",
    "api_requests": "expires_at = now() - interval '399 days'",
    "label_corrections": "at = now() - interval '400 days'",
    "idempotency_keys": "expires_at = now() - interval '399 days'",
}
"""What is purged, and how it comes to be overdue."""


@pytest.mark.parametrize("table", OVERDUE)
def test_what_is_overdue_goes_but_for_the_row_that_is_held(
    process: Runtime, database: Connection, database_url: str, table: str
) -> None:
    held, free = (UUID(int=n) for n in (1, 2))
    for org_id in (held, free):
        fill_every_table(database, org_id)
    for name, long_ago in OVERDUE.items():
        database.execute(f"update {name} set {long_ago}".encode())
    left = f"select org_id from {table} where org_id in (%s, %s)".encode()
    with connect(database_url) as foreign:
        foreign.execute(f"select from {table} where org_id = %s for update".encode(), (held,))
        run(process, database, purge_expired_keys, PurgeExpiredKeysPayload())
        assert database.execute(left, (held, free)).fetchall() == [(held,)]
    run(process, database, purge_expired_keys, PurgeExpiredKeysPayload())
    assert database.execute(left, (held, free)).fetchall() == []

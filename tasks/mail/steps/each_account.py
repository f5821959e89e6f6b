"""Enqueues a job for every active account of the fleet, in a few statements."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from uuid import UUID

from domain.jobs.job import Done, Outcome
from domain.payloads.payload import Payload
from engine.context import JobContext
from storage.mail.accounts import fan_out
from storage.postgres.apart import WITHIN_S_OF_JOB, together_or_apart
from storage.postgres.execution import StatementAborted

BATCH = 1000
"""Accounts per statement: a second's work at most, so that no lock is held for long."""

THREADS = 2
"""Statements of a fan-out at a time: one leaves PostgreSQL idle while it commits, more would keep others waiting."""

FAN_OUT_TRIES = 10
FAN_OUT_PAUSE_S = 1.0
"""How often, and how far apart, a fan-out asks again for an org of which somebody has locked a key."""


def each_account(ctx: JobContext, payload: type[Payload], **fixed: object) -> Outcome:
    """Enqueue a job for every active account, a part of the fleet per statement.

    An org of which somebody has locked a key comes last, and waits for the next tick if it still is.
    """
    with ctx.fleet() as tx:
        todo: list[tuple[fan_out.AccountRange, Sequence[UUID] | None]] = [
            (part, None) for part in fan_out.parts(tx, BATCH)
        ]
    batches: list[fan_out.FanOutCount] = []

    def reach(some: tuple[fan_out.AccountRange, Sequence[UUID] | None]) -> tuple[fan_out.AccountRange, Sequence[UUID]]:
        """Reach the accounts of a part, of some orgs or of all; returns the orgs that have to be tried again."""
        part, org_ids = some

        def enqueue(org_ids: Sequence[UUID] | None) -> None:
            ctx.check()
            with ctx.fleet() as tx:
                batches.append(fan_out.to_accounts(tx, ctx.job, payload, fixed, part, org_ids))

        if org_ids is None:
            try:
                enqueue(None)
            except StatementAborted:
                with ctx.fleet() as tx:
                    org_ids = fan_out.orgs(tx, part)
        return part, together_or_apart(org_ids or (), lambda org_id: org_id, enqueue, within_s=WITHIN_S_OF_JOB).all

    # In a few threads, so that the database is not idle while one of them waits.
    with ThreadPoolExecutor(THREADS, "fan-out") as pool:
        for tries_left in reversed(range(FAN_OUT_TRIES)):
            todo = [left for left in pool.map(reach, todo) if left[1]]
            if not todo:
                break
            Event().wait(FAN_OUT_PAUSE_S if tries_left else 0)
    if todo:
        ctx.log.warning("orgs_not_reached", orgs=len({org_id for _, org_ids in todo for org_id in org_ids or ()}))
    created = sum(batch.created for batch in batches)
    return Done({"accounts": sum(batch.accounts for batch in batches), "enqueued": created})

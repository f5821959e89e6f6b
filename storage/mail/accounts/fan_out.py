"""Enqueues one job per account, a part of the fleet in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import ClaimedJob
from domain.payloads.payload import Payload
from storage.postgres.database import Transaction

FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)


class AccountRange(NamedTuple):
    """Accounts by their ids: those after the one and up to the other; by default the whole fleet."""

    after: UUID = FIRST
    upto: UUID = LAST


@dataclass(frozen=True, slots=True)
class FanOutCount:
    """How many accounts were seen, and how many jobs are new."""

    accounts: int
    created: int


def parts(tx: Transaction, batch: int) -> Sequence[AccountRange]:
    """Ranges of at most so many active accounts; an account that becomes active meanwhile falls into one of them."""
    bounds = [row.id for row in tx.run("list_account_bounds", batch=batch)]
    return [AccountRange(after, upto) for after, upto in pairwise([FIRST, *bounds, LAST])]


def orgs(tx: Transaction, part: AccountRange) -> Sequence[UUID]:
    """The orgs of the accounts of a part."""
    return [row.org_id for row in tx.run("list_orgs_of_accounts", after=part.after, upto=part.upto)]


def to_accounts(
    tx: Transaction,
    parent: ClaimedJob,
    payload: type[Payload],
    fixed: Mapping[str, object],
    part: AccountRange,
    org_ids: Sequence[UUID] | None = None,
) -> FanOutCount:
    """Enqueue a job for each active account of a part, of some orgs or of all.

    The relay publishes them at its pace. Ledger role only.

    `fixed` holds the payload's fields other than `account_id`; raises `ValueError` when they do not make a payload, and
    `StatementAborted` soon when somebody has locked a key.
    """
    tx.wait_briefly()
    row = tx.run(
        "fan_out_to_accounts",
        job_type=payload.declaration.job_type,
        payload=Jsonb(payload.template("account_id", fixed)),
        payload_version=payload.declaration.version,
        after=part.after,
        upto=part.upto,
        org_ids=None if org_ids is None else list(org_ids),
        parent_id=parent.job_id,
        actor_id=parent.origin.actor_id,
        request_id=parent.origin.request_id,
        correlation_id=parent.origin.correlation_id,
    )[0]
    return FanOutCount(row.accounts, row.created)

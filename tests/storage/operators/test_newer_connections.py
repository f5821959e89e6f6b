"""What a job from before a new connection of its account would do again is nobody's order any more."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import Conflict
from domain.jobs.job import NewJob
from storage.accounts.accounts import Account
from storage.ledger import ledger
from storage.operators.replays import check_connection
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_job_type
from tests.doubles.mail_factories import make_account


def check(tx: Transaction, org_id: UUID, account: Account) -> None:
    """Judge a job of yesterday by the one that would do it again."""
    job = NewJob("probe.run", org_id, {"account_id": str(account.account_id)})
    again = ledger.enqueue(tx, [job], publisher=False, hint_timeout=timedelta(0))[0].job_id
    check_connection(tx, job, again, made_at=datetime.now(UTC) - timedelta(days=1))


def test_an_account_of_another_org_that_a_payload_names_keeps_no_job_back(store: Database) -> None:
    """A payload may name what it likes; it tells nothing about another org."""
    make_job_type(store)
    own, foreign = make_account(store), make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        with pytest.raises(Conflict, match="connected anew"):
            check(tx, own.org_id, own)
        check(tx, own.org_id, foreign)

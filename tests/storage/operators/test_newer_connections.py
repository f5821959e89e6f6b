"""What a job from before a new connection of its account would do again is nobody's order any more."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import Conflict
from domain.jobs.job import NewJob
from storage.accounts.accounts import Account
from storage.operators.replays import check_connection
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account


def again(org_id: UUID, account: Account) -> NewJob:
    return NewJob("probe.run", org_id, {"account_id": str(account.account_id)})


def test_an_account_of_another_org_that_a_payload_names_keeps_no_job_back(store: Database) -> None:
    """A payload may name what it likes; it tells nothing about another org."""
    own, foreign = make_account(store), make_account(store, org="another org", email="you@example.com")
    before = datetime.now(UTC) - timedelta(days=1)
    with store.ledger() as tx:
        with pytest.raises(Conflict, match="connected anew"):
            check_connection(tx, again(own.org_id, own), made_at=before)
        check_connection(tx, again(own.org_id, foreign), made_at=before)

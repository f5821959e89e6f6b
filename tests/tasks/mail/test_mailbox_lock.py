"""What a job writes of a mailbox, it writes in a transaction that has locked it (docs: mail-handlers.md#locks)."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from domain.mail.mailbox import INBOX
from storage.mail import messages
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.logins import TENANT_ROLE
from tests.doubles.factories import claim_one
from tests.doubles.mail_actions import stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.scenarios import Scenario, scenarios_of
from tests.tasks.mail.accounts.test_account_ends import MAIL_TYPES

WRITES = """
select s.relname::text as name, s.n_tup_ins + s.n_tup_upd + s.n_tup_del as rows from pg_stat_xact_user_tables s
where exists (select from pg_attribute a where a.attrelid = s.relid and a.attname = 'account_id')
"""
"""Rows that the session has written, by table; some of its earlier transactions may be among them."""
LOCKED = "select exists (select from accounts where pg_current_xact_id()::xid in (xmin, xmax)) as locked"


class Watched(Database):
    """Notes which tables of a mailbox each transaction of a job has written, and whether it held the mailbox."""

    def __init__(self, env: MailEnvironment) -> None:
        super().__init__(env.process.settings)
        self.seen: list[tuple[tuple[str, ...], bool]] = []

    @contextmanager
    def claimed(
        self, org_id: UUID, job_id: UUID, token: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        with super().claimed(org_id, job_id, token, project_id, role=role) as transaction:
            before = set(transaction.raw(WRITES))
            yield transaction
            transaction.restore()
            written = tuple(sorted(row.name for row in transaction.raw(WRITES) if row.rows and row not in before))
            if written:
                self.seen.append((written, transaction.raw(LOCKED)[0].locked))


@pytest.fixture
def watched(env: MailEnvironment) -> Watched:
    env.process.database.dispose()
    env.process.database = Watched(env)
    return env.process.database


@pytest.mark.parametrize("scenario", [next(scenarios_of(one)) for one in MAIL_TYPES], ids=str)
def test_what_a_job_writes_of_a_mailbox_is_written_under_its_lock(
    env: MailEnvironment, watched: Watched, scenario: Scenario
) -> None:
    env.run(scenario.prepare(env))
    assert [written for written, is_locked in watched.seen if not is_locked] == []


def test_a_transaction_without_the_lock_is_noticed(env: MailEnvironment, watched: Watched) -> None:
    place = stored_letter(env)
    watched.seen.clear()
    job = claim_one(env.process.database, env.enqueue("gmail.sync"))
    with watched.claimed(job.org_id, job.job_id, job.token) as tx:
        messages.change_labels(tx, env.account.account_id, {place.message_id}, add=(), remove={INBOX})
    assert watched.seen == [(("messages",), False)]

"""An account that is connected again while a job ends for want of its consent is not parked for ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.job import Origin
from storage.jobs import gates
from storage.mail.accounts import accounts, connecting
from storage.mail.accounts.accounts import Consent
from storage.mail.accounts.connecting import OrgMailbox
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.logins import TENANT_ROLE
from tests.doubles.mail_environment import OWNER, MailEnvironment


class QuickOwner(Database):
    """After each transaction of a job, an account that has lost its consent is connected again."""

    def __init__(self, env: MailEnvironment) -> None:
        super().__init__(env.process.settings)
        self._env = env

    @contextmanager
    def claimed(
        self, org_id: UUID, job_id: UUID, token: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        with super().claimed(org_id, job_id, token, project_id, role=role) as transaction:
            yield transaction
        env = self._env
        with self.ledger() as tx:
            now = accounts.get(tx, env.account.account_id)
            if now.status == "needs_reconsent":
                env.mailbox.consent("access-2", "refresh-2")
                expires = env.process.clock() + timedelta(hours=1)
                consent = Consent(SecretStr("access-2"), SecretStr("refresh-2"), expires)
                place = OrgMailbox(env.account.org_id, OWNER, OWNER)
                connecting.connect(tx, env.process.sealer, place, consent, by=Origin())


def test_a_gate_is_not_closed_after_its_account_was_connected_again(env: MailEnvironment) -> None:
    env.mailbox.revoke()
    env.database.execute("update accounts set access_expires_at = now()")
    env.process.database.dispose()
    env.process.database = QuickOwner(env)
    job_id = env.enqueue("gmail.sync")
    env.drain()
    with env.process.database.ledger() as tx:
        assert accounts.get(tx, env.account.account_id).status == "active"
        assert gates.closed(tx) == []
    assert env.job(job_id)["state"] == "succeeded"

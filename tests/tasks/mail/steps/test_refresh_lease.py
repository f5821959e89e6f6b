"""While a token is being refreshed nobody else may refresh it: the lease lasts until the new one is stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid4

from sandbox.emulator.control import FaultOrder
from storage.mail.accounts import tokens
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.logins import TENANT_ROLE
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.triggers import refuse


class Rival(Database):
    """After each transaction of a job, another process tries to take the account's refresh lease."""

    def __init__(self, env: MailEnvironment, version: int) -> None:
        super().__init__(env.process.settings)
        self._env = env
        self._version = version
        self.won: list[int] = []

    @contextmanager
    def claimed(
        self, org_id: UUID, job_id: UUID, token: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        with super().claimed(org_id, job_id, token, project_id, role=role) as transaction:
            yield transaction
        if not self._env.gmail.journal("oauth.token"):
            return
        with self.ledger() as tx:
            account_id, rival = self._env.account.account_id, uuid4()
            if tokens.take_refresh_lease(tx, account_id, owner=rival, version=self._version):
                self.won.append(len(self._env.gmail.journal("oauth.token")))
                tokens.release(tx, account_id, owner=rival)


def expiring(env: MailEnvironment) -> Rival:
    """A token that has to be refreshed, and the rival who waits for its chance."""
    env.database.execute("update accounts set access_expires_at = now() + %s", (timedelta(minutes=1),))
    rival = Rival(env, env.account.token_version)
    env.process.database.dispose()
    env.process.database = rival
    return rival


def test_the_lease_lasts_until_the_new_token_is_stored(env: MailEnvironment) -> None:
    rival = expiring(env)
    assert env.run(env.enqueue("gmail.sync_labels")) == "succeeded"
    assert rival.won == []
    assert len(env.gmail.journal("oauth.token")) == 1


def test_a_refresh_that_failed_lets_another_try(env: MailEnvironment) -> None:
    env.gmail.order(FaultOrder(operation="oauth.token", status=400, reason="temporarily_unavailable"))
    rival = expiring(env)
    env.run(env.enqueue("gmail.sync_labels"))
    assert rival.won


def test_lost_consent_is_found_although_the_lease_cannot_be_given_back(env: MailEnvironment) -> None:
    env.gmail.order(FaultOrder(operation="oauth.token", status=400, reason="invalid_grant"))
    expiring(env)
    refuse(
        env.database,
        "update",
        "accounts",
        when="old.refresh_owner is not null and new.refresh_owner is null and new.status = old.status",
    )
    assert env.run(env.enqueue("gmail.sync_labels")) == "queued"
    assert env.count("select count(*) from gates where scope = 'account'") == 1

"""Below both doors stand the rules of who may connect a mailbox, and a lock that makes them hold for two at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.mail.consent import ConsentRefusal, RefusedConsent
from storage.accounts import accounts, connecting
from storage.accounts.accounts import Consent
from storage.accounts.connecting import AddedMailbox, OrgMailbox
from storage.postgres.database import Database, Transaction
from storage.secrets.sealing import Sealer
from tests.waiting import eventually

EMAIL = "reader@example.com"


def connect(tx: Transaction, org: str, subject: str | None = None, email: str = EMAIL) -> AddedMailbox | RefusedConsent:
    consent = Consent(
        SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1), subject=subject
    )
    mailbox = OrgMailbox(accounts.ensure_org(tx, org), email, EMAIL)
    return connecting.connect(tx, Sealer(["a key"]), mailbox, consent, by=Origin())


def test_connecting_makes_org_owner_and_account_once(store: Database, database: Connection) -> None:
    with store.ledger() as tx:
        first, again = connect(tx, "Acme"), connect(tx, "Acme", email=EMAIL.upper())
        other = connect(tx, "Acme", email="you@example.com")
    assert isinstance(first, AddedMailbox)
    assert isinstance(again, AddedMailbox)
    assert isinstance(other, AddedMailbox)
    assert (first.created, again.created, other.created) == (True, False, True)
    assert first.account.account_id == again.account.account_id
    assert (first.account.email, first.account.status) == (EMAIL, "active")
    assert again.account.token_version == first.account.token_version + 1
    assert other.account.org_id == first.account.org_id
    assert database.execute("select email, role from users").fetchall() == [(EMAIL, "owner")]


def test_of_two_orgs_that_connect_a_mailbox_at_once_the_second_waits_and_is_refused(
    store: Database, database: Connection
) -> None:
    def second() -> AddedMailbox | RefusedConsent:
        with store.ledger() as tx:
            return connect(tx, "second")

    with ThreadPoolExecutor(1) as threads:
        with store.ledger() as tx:
            assert isinstance(connect(tx, "first"), AddedMailbox)
            other = threads.submit(second)
            waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            eventually(lambda: database.execute(waits).fetchone() == (1,), describe="nobody waits for the mailbox")
        assert other.result(timeout=30) == RefusedConsent(ConsentRefusal.OTHER_ORG, EMAIL)


def test_a_disconnected_mailbox_is_free_for_another_org_and_another_user(store: Database) -> None:
    with store.ledger() as tx:
        first = connect(tx, "first", "117")
        assert isinstance(first, AddedMailbox)
        assert connect(tx, "first", "118") == RefusedConsent(ConsentRefusal.OTHER_USER, EMAIL)
        assert connect(tx, "second", "117") == RefusedConsent(ConsentRefusal.OTHER_ORG, EMAIL)
        accounts.disconnect(tx, first.account.account_id, "it moves")
        assert isinstance(connect(tx, "second", "118"), AddedMailbox)

"""Below both doors stand the rules of who may connect a mailbox, and a lock that makes them hold for two at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.failures import Invalid
from domain.jobs.gate_causes import Cause
from domain.jobs.job import Origin
from domain.mail.consent import ConsentRefusal, RefusedConsent
from domain.mail.replies.voice import accept_voice
from engine.enqueue import enqueue
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.mail.accounts import accounts, connecting, disconnecting, voices
from storage.mail.accounts.accounts import Consent
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database, Transaction
from tests.waiting import patient, until_a_lock_is_waited_for

EMAIL = "reader@example.com"
VOICE = accept_voice(
    {"formality": "casual", "length": "short", "greeting": "Hi …,", "closing": "Cheers, Olga", "habits": ["is brief"]}
)


def connect(
    tx: Transaction, org: str, subject: str | None = None, email: str = EMAIL, owner: str = EMAIL
) -> AddedMailbox | RefusedConsent:
    consent = Consent(
        SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1), subject=subject
    )
    mailbox = OrgMailbox(accounts.ensure_org(tx, org), email, owner)
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
        with patient(store.ledger()) as tx:
            return connect(tx, "second")

    with ThreadPoolExecutor(1) as threads:
        with store.ledger() as tx:
            assert isinstance(connect(tx, "first"), AddedMailbox)
            other = threads.submit(second)
            until_a_lock_is_waited_for(database, describe="nobody waits for the mailbox")
        assert other.result(timeout=30) == RefusedConsent(ConsentRefusal.OTHER_ORG, EMAIL)


def test_a_disconnected_mailbox_is_free_for_another_org_and_another_user(store: Database) -> None:
    with store.ledger() as tx:
        first = connect(tx, "first", "117")
        assert isinstance(first, AddedMailbox)
        assert connect(tx, "first", "118") == RefusedConsent(ConsentRefusal.OTHER_USER, EMAIL)
        assert connect(tx, "second", "117") == RefusedConsent(ConsentRefusal.OTHER_ORG, EMAIL)
        accounts.disconnect(tx, first.account.account_id, "it moves")
        assert isinstance(connect(tx, "second", "118"), AddedMailbox)


def test_a_connection_during_a_disconnection_opens_the_account_again(store: Database, database: Connection) -> None:
    def again() -> AddedMailbox | RefusedConsent:
        with patient(store.ledger()) as tx:
            return connect(tx, "Acme", "117")

    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
    assert isinstance(first, AddedMailbox)
    with ThreadPoolExecutor(1) as threads:
        with store.ledger() as tx:
            jobs = partial(enqueue, org_id=first.account.org_id)
            disconnecting.disconnect(tx, first.account.account_id, jobs, reason="left", by=Origin())
            other = threads.submit(again)
            until_a_lock_is_waited_for(database, describe="nobody waits for the mailbox")
        found = other.result(timeout=30)
    assert isinstance(found, AddedMailbox)
    assert (found.account.account_id, found.created) == (first.account.account_id, True)
    assert database.execute("select count(*) from accounts").fetchone() == (1,)


@pytest.mark.parametrize(
    ("org", "subject", "is_same"),
    [("Acme", "117", True), ("Acme", "118", False), ("Other", "117", False), ("Other", None, False)],
)
def test_a_mailbox_is_the_account_of_its_google_user_in_an_org(
    store: Database, database: Connection, org: str, subject: str | None, *, is_same: bool
) -> None:
    """With all that names it, as its settings; the owner is whom the latest connection names."""
    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
        assert isinstance(first, AddedMailbox)
        account_id = first.account.account_id
        accounts.save_settings(tx, account_id, {"label_parent": "Mail"})
        accounts.disconnect(tx, account_id, "left")
    with store.ledger() as tx:
        again = connect(tx, org, subject, owner="the.next@example.com")
        owner = tx.raw("select id from users where email = 'the.next@example.com'")[0].id
    assert isinstance(again, AddedMailbox)
    assert (again.created, again.lost_at, again.account.status) == (True, None, "active")
    said = "select data ->> 'created', data ->> 'reopened' from audit_log where event = 'account.connected' order by id"
    assert database.execute(said).fetchall()[1] == (("false", "true") if is_same else ("true", "false"))
    assert (again.account.account_id == account_id, again.account.reopened_at is not None) == (is_same, is_same)
    assert (again.account.user_id, again.account.settings.label_parent) == (owner, "Mail" if is_same else "Postroom")


def test_an_account_of_a_known_google_user_is_not_connected_by_nobody_knows_whom(store: Database) -> None:
    """Nor is it when it is closed: its mail and rules would be lost to its user, or another one would have them."""
    refused = RefusedConsent(ConsentRefusal.UNKNOWN_USER, EMAIL)
    with store.ledger() as tx:
        unknown = connect(tx, "Acme")
        assert isinstance(unknown, AddedMailbox)
        accounts.disconnect(tx, unknown.account.account_id, "left")
        known = connect(tx, "Acme", "117")
        assert isinstance(known, AddedMailbox)
        assert known.account.account_id != unknown.account.account_id
        assert connect(tx, "Acme") == refused
        accounts.disconnect(tx, known.account.account_id, "left")
        assert connect(tx, "Acme") == refused


@pytest.mark.parametrize("erased", ["of the account", "of the next connection"])
def test_no_account_is_opened_again_for_whom_an_erasure_is_of(
    store: Database, database: Connection, erased: str
) -> None:
    next_owner = "the.next@example.com"
    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
        assert isinstance(first, AddedMailbox)
        accounts.disconnect(tx, first.account.account_id, "left")
    database.execute(
        "insert into users (org_id, email, role) values (%s, %s, 'owner')", (first.account.org_id, next_owner)
    )
    whom = EMAIL if erased == "of the account" else next_owner
    database.execute("update users set erasing_since = now() where email = %s", (whom,))
    with store.ledger() as tx:
        if whom == next_owner:
            with pytest.raises(Invalid, match="being erased"):
                connect(tx, "Acme", "117", owner=next_owner)
        else:
            again = connect(tx, "Acme", "117", owner=next_owner)
            assert isinstance(again, AddedMailbox)
            assert again.account.account_id != first.account.account_id


@pytest.mark.parametrize("cause", Cause)
def test_gates_of_an_account_stay_but_for_that_of_lost_consent(store: Database, cause: Cause) -> None:
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
        assert isinstance(first, AddedMailbox)
        account = first.account
        accounts.mark_needs_reconsent(tx, account.account_id, version=account.token_version, reason="it is gone")
        gates.close(tx, Gate("account", str(account.account_id), "a reason", ends_at, "postroom", cause))
        accounts.disconnect(tx, account.account_id, "left")
        connect(tx, "Acme", "117")
        closed = [(one.key, one.until) for one in gates.closed(tx)]
    assert closed == ([] if cause is Cause.CONSENT else [(str(account.account_id), ends_at)])


@pytest.mark.parametrize("subject", [None, "117"])
def test_a_disconnection_forgets_the_voice_of_an_unknown_google_user(
    store: Database, database: Connection, subject: str | None
) -> None:
    """Also one that is kept while the disconnection waits."""
    with store.ledger() as tx:
        first = connect(tx, "Acme", subject)
    assert isinstance(first, AddedMailbox)
    account = first.account

    def disconnect() -> bool:
        with patient(store.ledger()) as tx:
            return accounts.disconnect(tx, account.account_id, "gone")

    with ThreadPoolExecutor(1) as threads:
        with store.tenant(account.org_id) as tx:
            accounts.lock(tx, account.account_id)
            voices.save(tx, account.account_id, VOICE, sampled=3)
            disconnected = threads.submit(disconnect)
            until_a_lock_is_waited_for(database, describe="nobody waits for the voice")
        assert disconnected.result(timeout=30)
    assert database.execute("select count(*) from voices").fetchone() == (0 if subject is None else 1,)

"""Below both doors stand the rules of who may connect a mailbox, and a lock that makes them hold for two at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.gate_causes import Cause
from domain.jobs.job import Origin
from domain.mail.consent import ConsentRefusal, RefusedConsent
from domain.mail.replies.voice import accept_voice
from storage.accounts import accounts, connecting, voices
from storage.accounts.accounts import Account, Consent
from storage.accounts.connecting import AddedMailbox, OrgMailbox
from storage.ledger import gates
from storage.ledger.gates import Gate
from storage.postgres.database import Database, Transaction
from storage.secrets.sealing import Sealer
from tests.waiting import eventually, until_a_lock_is_waited_for

EMAIL = "reader@example.com"
VOICE = accept_voice(
    {"formality": "casual", "length": "short", "greeting": "Hi …,", "closing": "Cheers, Olga", "habits": ["is brief"]}
)


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


INHERITED = {
    "rules": "(org_id, account_id, kind, scope, content) values (%(org)s, %(account)s, 'direction', 'account', 'x')",
    "safety_policies": "(org_id, account_id, confidence_floor, approve_from, updated_by)"
    " values (%(org)s, %(account)s, 0.5, 'safe', 'a test')",
    "agent_profiles": "(org_id, account_id, name, version, definition, created_by)"
    " values (%(org)s, %(account)s, 'agent', 1, '{}', 'a test')",
    "labels": "(org_id, account_id, gmail_label_id, name, kind, description)"
    " values (%(org)s, %(account)s, 'Label_1', 'Bills', 'user', 'what is to be paid')",
    "voices": "(org_id, account_id, voice, sampled) values (%(org)s, %(account)s, '{}', 3)",
}
"""What a person has written about a mailbox, and how it is inserted."""

LEFT = {
    "action_links", "actions", "agent_runs", "approval_notices", "automatic_answers", "backfills", "consent_requests",
    "correspondents", "decisions", "draft_tokens", "emails", "expected_writes", "label_corrections", "llm_calls",
    "messages", "outgoing_mails", "threads",
}  # fmt: skip
"""What belongs to a connection: its mail, and what was done with it; but for drafts that are in the mailbox."""


def test_each_table_of_accounts_is_inherited_or_left(database: Connection) -> None:
    rows = database.execute(
        "select table_name from information_schema.columns where column_name = 'account_id' and table_schema = 'public'"
    ).fetchall()
    assert {name for (name,) in rows} == INHERITED.keys() | LEFT


def write_everything(database: Connection, account: Account) -> None:
    named = {"org": account.org_id, "account": account.account_id}
    for table, columns in INHERITED.items():
        database.execute(f"insert into {table} {columns}", named)


@pytest.mark.parametrize("is_known", ["at once", "later"])
@pytest.mark.parametrize(
    ("org", "subject", "inherits"),
    [("Acme", "117", True), ("Acme", "118", False), ("Acme", None, False), ("Other", "117", False)],
)
def test_the_next_connection_of_a_google_user_has_what_a_person_has_written(
    store: Database, database: Connection, org: str, subject: str | None, is_known: str, *, inherits: bool
) -> None:
    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
    assert isinstance(first, AddedMailbox)
    account = first.account
    named = {"org": account.org_id, "account": account.account_id}
    write_everything(database, account)
    database.execute(
        "insert into schedules (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at,"
        " created_by) values (%(org)s, 'a schedule', 'gmail.sync', jsonb_build_object('account_id', %(account)s::text),"
        " 1, '0 8 * * *', 'UTC', 'skip', now(), 'a test')",
        named,
    )
    with store.ledger() as tx:
        accounts.save_settings(tx, account.account_id, {"label_parent": "Mail"})
        gates.close(tx, Gate("account", str(account.account_id), "a pause", None, "anna"))
        accounts.disconnect(tx, account.account_id, "left")
        second = connect(tx, org, subject if is_known == "at once" else None)
        if is_known == "later":
            again = connect(tx, org, subject)
            assert isinstance(again, AddedMailbox)
            assert not again.created
        paused = {gate.key for gate in gates.closed(tx)}
    assert isinstance(second, AddedMailbox)
    next_id = second.account.account_id
    assert (second.created, second.lost_at, next_id != account.account_id) == (True, None, True)
    has = next_id if inherits else account.account_id
    for table in INHERITED:
        assert database.execute(f"select account_id from {table}").fetchall() == [(has,)], table
    assert database.execute("select payload ->> 'account_id' from schedules").fetchall() == [(str(has),)]
    assert paused == {str(has)}
    with store.ledger() as tx:
        settings = accounts.get(tx, next_id).settings
    assert settings.label_parent == ("Mail" if inherits else "Postroom")


def test_what_a_connection_has_of_its_own_stays_when_its_google_user_is_known_later(
    store: Database, database: Connection
) -> None:
    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
        assert isinstance(first, AddedMailbox)
        accounts.save_settings(tx, first.account.account_id, {"label_parent": "Mail", "send_allowed": True})
    write_everything(database, first.account)
    with store.ledger() as tx:
        accounts.disconnect(tx, first.account.account_id, "left")
        second = connect(tx, "Acme")
        assert isinstance(second, AddedMailbox)
        accounts.save_settings(tx, second.account.account_id, {"label_parent": "Post"})
    write_everything(database, second.account)
    database.execute("update labels set description = '' where account_id = %s", (second.account.account_id,))
    with store.ledger() as tx:
        connect(tx, "Acme", "117")
    each = {
        table: database.execute(f"select count(*) from {table} where account_id = %s", (second.account.account_id,))
        for table in INHERITED
    }
    assert {table: found.fetchone() for table, found in each.items()} == dict.fromkeys(INHERITED, (1,)) | {
        "rules": (2,)
    }
    described = "select description from labels where account_id = %s"
    assert database.execute(described, (second.account.account_id,)).fetchall() == [("what is to be paid",)]
    with store.ledger() as tx:
        settings = accounts.get(tx, second.account.account_id).settings
    assert (settings.label_parent, settings.send_allowed) == ("Post", True)


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("own", [None, 1, 3])
def test_a_pause_and_a_providers_wish_to_wait_go_to_the_next_connection(
    store: Database, cause: Cause, own: int | None
) -> None:
    """Of an own gate of the next connection and the one before, the later end counts."""
    now = datetime.now(UTC)
    ends = {hours: now + timedelta(hours=hours) for hours in (1, 2, 3)}

    def gate(account: Account, hours: int) -> Gate:
        return Gate("account", str(account.account_id), "a reason", ends[hours], "postroom", cause)

    with store.ledger() as tx:
        first = connect(tx, "Acme", "117")
        assert isinstance(first, AddedMailbox)
        account = first.account
        accounts.mark_needs_reconsent(tx, account.account_id, version=account.token_version, reason="it is gone")
        gates.close(tx, gate(account, 2))
        accounts.disconnect(tx, account.account_id, "left")
        second = connect(tx, "Acme", None if own else "117")
        assert isinstance(second, AddedMailbox)
        if own:
            gates.close(tx, gate(second.account, own))
            connect(tx, "Acme", "117")
        closed = [(one.key, one.until) for one in gates.closed(tx)]
    inherits = cause in {Cause.PAUSE, Cause.SLOW_DOWN}
    hours = max(own or 0, 2) if inherits else own if cause is not Cause.CONSENT else None
    assert closed == ([(str(second.account.account_id), ends[hours])] if hours else [])


@pytest.mark.parametrize("subject", [None, "117"])
def test_a_disconnection_forgets_a_voice_that_nobody_can_inherit(
    store: Database, database: Connection, subject: str | None
) -> None:
    """Also one that is kept while the disconnection waits."""
    with store.ledger() as tx:
        first = connect(tx, "Acme", subject)
    assert isinstance(first, AddedMailbox)
    account = first.account

    def disconnect() -> bool:
        with store.ledger() as tx:
            return accounts.disconnect(tx, account.account_id, "gone")

    with ThreadPoolExecutor(1) as threads:
        with store.tenant(account.org_id) as tx:
            accounts.lock(tx, account.account_id)
            voices.save(tx, account.account_id, VOICE, sampled=3)
            disconnected = threads.submit(disconnect)
            until_a_lock_is_waited_for(database, describe="nobody waits for the voice")
        assert disconnected.result(timeout=30)
    assert database.execute("select count(*) from voices").fetchone() == (0 if subject is None else 1,)

"""The life of a thread that wants an answer: moves start from the expected state, and half a draft cannot be stored."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, UniqueViolation

from domain.jobs.failures import Invalid
from domain.mail.correspondence import EmailState
from storage.mail import emails
from storage.mail.accounts.accounts import Account
from storage.mail.emails import MadeDraft
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, WANTS_ANSWER, make_account, make_message, store_message

DRAFT = MadeDraft("r1", "dm1", "fingerprint")
EVER = datetime.min.replace(tzinfo=UTC)


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    store_message(store, account)
    with store.tenant(account.org_id) as tx:
        assert emails.open_email(tx, account.account_id, thread_id="t1", message_id="m1", decision=WANTS_ANSWER)
    return account


def drafted(store: Database, account: Account, expected: EmailState = EmailState.PENDING) -> int | None:
    with store.tenant(account.org_id) as tx:
        return emails.record_draft(tx, account.account_id, "t1", expected=expected, draft=DRAFT)


def current(store: Database, account: Account) -> emails.Email:
    with store.tenant(account.org_id) as tx:
        found = emails.get(tx, account.account_id, "t1")
    assert found is not None
    return found


def move(store: Database, account: Account, expected: EmailState, to: EmailState) -> bool:
    with store.tenant(account.org_id) as tx:
        return emails.move(tx, account.account_id, "t1", expected=expected, to=to)


def test_a_thread_has_one_record(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx:
        assert not emails.open_email(tx, account.account_id, thread_id="t1", message_id="m2")
        assert not emails.open_email(tx, account.account_id, thread_id="no such thread", message_id="m2")
        assert emails.get(tx, account.account_id, "t2") is None
    email = current(store, account)
    assert (email.state, email.message_id, email.decision_source) == (EmailState.PENDING, "m1", WANTS_ANSWER.source)


def test_the_token_that_was_planned_first_stays(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx:
        planned = [
            emails.plan_draft(tx, account.account_id, "t1", token=token, newest="m1", since=7)
            for token in ("token-one", "token-two")
        ]
        known = emails.known_draft_tokens(tx, account.account_id, frozenset({"token-one", "token-two"})).answer
    assert planned == ["token-one", "token-one"]
    assert known == {"token-one": "t1"}
    drafted(store, account)
    with store.tenant(account.org_id) as tx:
        assert emails.plan_draft(tx, account.account_id, "t1", token="token-three", newest="m1", since=7) is None


def test_nothing_is_planned_or_moved_on_another_newest_message(store: Database, account: Account) -> None:
    store_message(store, account, make_message("m2", "t1", minutes=1))
    account_id, states = account.account_id, {"expected": EmailState.PENDING, "to": EmailState.SKIPPED}
    with store.tenant(account.org_id) as tx:
        assert emails.plan_draft(tx, account_id, "t1", token="token-one", newest="m1", since=7) is None
        assert emails.known_draft_tokens(tx, account_id, frozenset({"token-one"})).answer == {}
        assert not emails.move(tx, account_id, "t1", newest="m1", **states)
        assert emails.plan_draft(tx, account_id, "t1", token="token-one", newest="m2", since=7) == "token-one"
        assert emails.move(tx, account_id, "t1", newest="m2", **states)


def test_a_draft_is_recorded_once(store: Database, account: Account) -> None:
    assert drafted(store, account) == 0
    assert drafted(store, account) is None
    with store.tenant(account.org_id) as tx:
        found = emails.by_draft_message(tx, account.account_id, "dm1")
        assert emails.replace_draft_message(tx, account.account_id, draft_id="r1", message_id="dm2")
        assert emails.by_draft_message(tx, account.account_id, "dm1") is None
    assert found is not None
    assert (found.thread_id, found.draft_id, found.draft_fingerprint) == ("t1", "r1", "fingerprint")


def test_three_reworks_are_counted_and_a_fourth_is_not(store: Database, account: Account) -> None:
    drafted(store, account)
    for done in (1, 2, 3):
        assert move(store, account, EmailState.DRAFTED, EmailState.REWORK_REQUESTED)
        assert drafted(store, account, EmailState.REWORK_REQUESTED) == done
    move(store, account, EmailState.DRAFTED, EmailState.REWORK_REQUESTED)
    with pytest.raises(Invalid, match="rework_count"):
        drafted(store, account, EmailState.REWORK_REQUESTED)


def test_sending_is_seen_once_and_from_the_expected_state(store: Database, account: Account) -> None:
    def see() -> bool:
        with store.tenant(account.org_id) as tx:
            return emails.record_sent(
                tx, account.account_id, "t1", expected=EmailState.DRAFTED, message_id="s1", at=NOON
            )

    early = see()
    drafted(store, account)
    assert [early, see(), see()] == [False, True, False]
    assert (current(store, account).state, current(store, account).sent_message_id) == (EmailState.SENT, "s1")


def test_a_settled_thread_begins_anew(store: Database, account: Account) -> None:
    drafted(store, account)
    with store.tenant(account.org_id) as tx:
        (record,) = emails.open_records(tx, account.account_id, since=EVER)
    assert (record.thread_id, record.state, record.by_hand) == ("t1", EmailState.DRAFTED, False)
    assert move(store, account, EmailState.DRAFTED, EmailState.SKIPPED)
    with store.tenant(account.org_id) as tx:
        assert emails.forget_draft(tx, account.account_id, "t1")
        assert emails.reopen(tx, account.account_id, "t1", expected=EmailState.SKIPPED, message_id="m2")
        assert not emails.reopen(tx, account.account_id, "t1", expected=EmailState.SKIPPED, message_id="m3")
        assert emails.update_decision(tx, account.account_id, thread_id="t1", message_id="m3", decision=WANTS_ANSWER)
        assert emails.open_records(tx, account.account_id, since=EVER) == (), "no message is in the inbox"
    email = current(store, account)
    assert (email.state, email.message_id, email.draft_id, email.rework_count) == (EmailState.PENDING, "m3", None, 0)


HALF_RECORDS = (
    "state = 'drafted'",
    "state = 'rework_requested'",
    "state = 'sent'",
    "state = 'lost'",
    "draft_id = 'r1'",
    "draft_id = 'r1', draft_message_id = 'm', draft_fingerprint = 'f', drafted_at = now()",
    "sent_message_id = 's1'",
    "sent_message_id = 's1', sent_at = now()",
    "rework_count = 4",
    "rework_count = -1",
    "confidence = 1.01",
    "classification = null",
    "decision_source = 'person'",
)


def test_no_record_is_half_of_something(database: Connection, account: Account) -> None:
    for change in HALF_RECORDS:
        with pytest.raises(CheckViolation):
            database.execute(f"update emails set {change} where account_id = %s", (account.account_id,))


def test_a_draft_belongs_to_one_thread(store: Database, database: Connection, account: Account) -> None:
    drafted(store, account)
    store_message(store, account, make_message("m2", "t2"))
    with store.tenant(account.org_id) as tx:
        emails.open_email(tx, account.account_id, thread_id="t2", message_id="m2")
    with pytest.raises(UniqueViolation):
        database.execute(
            "update emails set state = 'drafted', draft_id = 'r1', draft_message_id = 'x', draft_fingerprint = 'x',"
            " drafted_at = now() where gmail_thread_id = 't2'"
        )


def test_a_record_points_at_a_thread_of_its_own_account(store: Database, account: Account) -> None:
    other = make_account(store, email="you@example.com")
    with store.tenant(account.org_id) as tx:
        assert not emails.open_email(tx, other.account_id, thread_id="t1", message_id="m1")
        assert isinstance(current(store, account).email_id, UUID)

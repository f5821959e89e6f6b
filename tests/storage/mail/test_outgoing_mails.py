"""Mail that leaves, as the ledger keeps it: the first token stays, answers are rare, and orgs see their own."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, ForeignKeyViolation

from domain.jobs.failures import Gone
from domain.mail.actions.requested_action import AutoReply
from domain.mail.actions.status import ActionStatus
from domain.mail.mailbox import Draft
from domain.mail.triage.safety import CheckedAction
from storage.mail import emails, outgoing_mails
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.outgoing_mails import MailRecord
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, make_account, store_message

WEEK = timedelta(days=7)
ANNA = "anna@example.com"


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    store_message(store, account)
    return account


def act(store: Database, account: Account) -> UUID:
    checked = CheckedAction(AutoReply(text="x"), ActionStatus.QUEUED, AutoReply.danger)
    with store.tenant(account.org_id) as tx:
        return actions.request(tx, account.account_id, "m1", checked, requested_by="a test")


def plan_of(action_id: UUID) -> MailRecord:
    return MailRecord(action_id, "token-one", "reply", automatic=True, history_id=2**64 - 1)


def planned(store: Database, account: Account) -> UUID:
    action_id = act(store, account)
    with store.tenant(account.org_id) as tx:
        outgoing_mails.plan(tx, account.account_id, plan_of(action_id))
    return action_id


def test_a_mail_goes_from_its_plan_to_its_message_id(store: Database, account: Account) -> None:
    account_id, action_id = account.account_id, planned(store, account)
    draft = Draft("r1", "d1", "t1")
    with store.tenant(account.org_id) as tx:
        begun = outgoing_mails.get(tx, account_id, action_id)
        assert begun is not None
        assert (begun.token, begun.history_id, begun.draft, begun.send_began_at) == ("token-one", 2**64 - 1, None, None)
        outgoing_mails.record_draft(tx, account_id, action_id, draft)
        outgoing_mails.record_sent(tx, account_id, action_id, message_id="s1", thread_id="t1")
        outgoing_mails.record_message_id(tx, account_id, action_id, "<x@mail.gmail.com>")
        sent = outgoing_mails.get(tx, account_id, action_id)
    assert sent is not None
    assert (sent.draft, sent.sent_message_id, sent.rfc_message_id) == (draft, "s1", "<x@mail.gmail.com>")
    assert sent.sent_at is not None
    assert sent.send_began_at is not None


def test_the_first_token_stays(store: Database, account: Account) -> None:
    action_id = planned(store, account)
    with store.tenant(account.org_id) as tx:
        again = MailRecord(action_id, "token-two", "reply", automatic=False, history_id=5)
        assert outgoing_mails.plan(tx, account.account_id, again) == "token-one"


def test_an_action_that_is_not_there_has_no_mail(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx:
        assert outgoing_mails.get(tx, account.account_id, uuid4()) is None
        with pytest.raises(Gone):
            outgoing_mails.plan(tx, account.account_id, plan_of(uuid4()))
        with pytest.raises(Gone):
            outgoing_mails.record_sent(tx, account.account_id, uuid4(), message_id="s1", thread_id="t1")


def test_another_org_sees_and_changes_nothing(store: Database, account: Account) -> None:
    action_id = planned(store, account)
    other = make_account(store, org="another org", email="other@example.com")
    with store.tenant(other.org_id) as tx:
        assert outgoing_mails.get(tx, account.account_id, action_id) is None
        outgoing_mails.pause_sending(tx, account.account_id, NOON)
        with pytest.raises(Gone):
            outgoing_mails.record_draft(tx, account.account_id, action_id, Draft("r1", "d1", "t1"))


@pytest.mark.parametrize(
    "change",
    [
        "draft_id = 'r1'",
        "sent_message_id = 's1'",
        "rfc_message_id = '<x@y>'",
        "history_id = 0",
        "token = 'short'",
        "message_type = 'spam'",
    ],
)
def test_the_database_refuses_half_a_mail(store: Database, account: Account, database: Connection, change: str) -> None:
    planned(store, account)
    with pytest.raises(CheckViolation):
        database.execute(f"update outgoing_mails set {change}".encode())


def test_a_mail_belongs_to_an_action_of_its_account(store: Database, account: Account, database: Connection) -> None:
    planned(store, account)
    with pytest.raises(ForeignKeyViolation):
        database.execute("update outgoing_mails set action_id = gen_random_uuid()")


def test_the_token_of_a_mail_is_known_as_ours(store: Database, account: Account) -> None:
    planned(store, account)
    with store.tenant(account.org_id) as tx:
        known = emails.known_draft_tokens(tx, account.account_id, frozenset({"token-one", "token-two"})).answer
    assert set(known) == {"token-one"}


def reserve(store: Database, account: Account, action_id: UUID, *addresses: str) -> frozenset[str]:
    with store.tenant(account.org_id) as tx:
        return outgoing_mails.reserve_answers(tx, account.account_id, action_id, addresses or (ANNA,), every=WEEK)


def test_a_correspondent_gets_one_answer_in_seven_days(store: Database, account: Account, database: Connection) -> None:
    first, second = planned(store, account), act(store, account)
    assert reserve(store, account, first, ANNA, "bob@example.com") == frozenset()
    assert reserve(store, account, first) == frozenset(), "its own action may ask again"
    assert reserve(store, account, second, ANNA, "carl@example.com") == {ANNA}
    database.execute("update automatic_answers set answered_at = now() - interval '7 days 1 minute'")
    assert reserve(store, account, second) == frozenset()


def test_an_answer_that_never_left_makes_way(store: Database, account: Account, database: Connection) -> None:
    first, second = planned(store, account), act(store, account)
    reserve(store, account, first)
    database.execute("update actions set state = 'failed', error = '{}', finished_at = now() where id = %s", (first,))
    assert reserve(store, account, second) == frozenset()


def test_an_answer_that_may_have_left_does_not(store: Database, account: Account, database: Connection) -> None:
    first, second = planned(store, account), act(store, account)
    reserve(store, account, first)
    with store.tenant(account.org_id) as tx:
        outgoing_mails.record_draft(tx, account.account_id, first, Draft("r1", "d1", "t1"))
    database.execute("update actions set state = 'failed', error = '{}', finished_at = now() where id = %s", (first,))
    assert reserve(store, account, second) == {ANNA}


def test_of_two_pauses_the_later_end_wins(store: Database, account: Account, database: Connection) -> None:
    account_id = account.account_id
    row = database.execute("select now() + interval '2 hours', now() + interval '1 hour'").fetchone()
    assert row is not None
    with store.tenant(account.org_id) as tx:
        assert outgoing_mails.paused_until(tx, account_id) is None
        for until in row:
            outgoing_mails.pause_sending(tx, account_id, until)
        assert outgoing_mails.paused_until(tx, account_id) == row[0]
    database.execute("update accounts set sending_paused_until = now() - interval '1 second'")
    with store.tenant(account.org_id) as tx:
        assert outgoing_mails.paused_until(tx, account_id) is None

"""Our own writes are no news when they come back; the same change by somebody else is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection
from psycopg.errors import IntegrityError

from domain.mail.mailbox import Change, ChangeKind
from storage.mail.accounts import expected_writes
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.expected_writes import ExpectedWrite
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account


@pytest.fixture
def account(store: Database) -> Account:
    return make_account(store)


def change(history_id: int, kind: ChangeKind, *labels: str, message: str = "m1", thread: str = "t1") -> Change:
    return Change(history_id, kind, message, thread, frozenset(labels))


def expect(store: Database, account: Account, *writes: ExpectedWrite) -> None:
    with store.tenant(account.org_id) as tx:
        expected_writes.expect(tx, account.account_id, writes)


def news(store: Database, account: Account, *changes: Change) -> tuple[Change, ...]:
    with store.tenant(account.org_id) as tx:
        return expected_writes.tell_apart(tx, account.account_id, changes).others


def test_without_expectations_everything_is_news(store: Database, account: Account) -> None:
    changes = (change(1, "labels_added", "Label_1"), change(2, "message_added", "INBOX"))
    assert news(store, account, *changes) == changes
    assert news(store, account) == ()


def test_a_message_answers_once_and_again_when_history_is_replayed(store: Database, account: Account) -> None:
    expect(store, account, ExpectedWrite("labels_added", message_id="m1", label_id="Label_1"))
    ours, theirs = change(5, "labels_added", "Label_1"), change(9, "labels_added", "Label_1")
    assert news(store, account, ours) == ()
    assert news(store, account, ours) == ()
    assert news(store, account, theirs) == (theirs,)
    assert news(store, account, ours, theirs) == (theirs,)


def test_of_two_like_records_in_one_page_the_first_is_ours(store: Database, account: Account) -> None:
    expect(store, account, ExpectedWrite("message_deleted", message_id="m1"))
    first, second = change(5, "message_deleted"), change(6, "message_deleted")
    assert news(store, account, second, first) == (second,)


def test_only_the_expected_label_is_taken_away(store: Database, account: Account) -> None:
    expect(store, account, ExpectedWrite("labels_added", message_id="m1", label_id="Label_1"))
    both = change(5, "labels_added", "Label_1", "Label_2")
    assert news(store, account, both) == (change(5, "labels_added", "Label_2"),)
    removed = change(6, "labels_removed", "Label_1")
    assert news(store, account, removed) == (removed,)


def test_a_thread_answers_for_each_of_its_messages(store: Database, account: Account) -> None:
    expect(store, account, ExpectedWrite("labels_removed", thread_id="t1", label_id="Label_1"))
    ours = [change(n, "labels_removed", "Label_1", message=f"m{n}") for n in (1, 2, 3)]
    elsewhere = change(4, "labels_removed", "Label_1", message="m4", thread="t2")
    assert news(store, account, *ours, elsewhere) == (elsewhere,)


def test_a_second_attempt_expects_no_more_than_the_first(
    store: Database, account: Account, database: Connection
) -> None:
    for _ in range(2):
        expect(store, account, ExpectedWrite("labels_added", message_id="m1", label_id="Label_1"))
    assert database.execute("select count(*) from expected_writes").fetchone() == (1,)


def test_expectations_end(store: Database, account: Account, database: Connection) -> None:
    expect(store, account, ExpectedWrite("message_added", thread_id="t1"))
    other = make_account(store, email="you@example.com")
    draft = change(5, "message_added", "DRAFT")
    assert news(store, other, draft) == (draft,)
    assert news(store, account, draft) == ()
    database.execute(
        "update expected_writes set created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'"
    )
    assert news(store, account, draft) == (draft,)
    with store.ledger() as tx:
        assert [expected_writes.RETENTION.forget(tx), expected_writes.RETENTION.forget(tx)] == [1, 0]


def test_a_label_that_we_took_off_is_remembered_and_answers_nothing(
    store: Database, account: Account, database: Connection
) -> None:
    account_id, write = account.account_id, ExpectedWrite("labels_removed", message_id="m1", label_id="Label_1")
    removal = change(5, "labels_removed", "Label_1")
    with store.tenant(account.org_id) as tx:
        expected_writes.expect(tx, account_id, [write], remember=expected_writes.REMEMBER)
    later = "update expected_writes set created_at = created_at - %(by)s, expires_at = expires_at - %(by)s"
    database.execute(later, {"by": 2 * expected_writes.KEEP})
    assert news(store, account, removal) == (removal,)
    with store.ledger() as tx:
        assert expected_writes.RETENTION.forget(tx) == 0
    expect(store, account, write)
    assert news(store, account, removal) == ()
    database.execute(later, {"by": expected_writes.REMEMBER})
    with store.ledger() as tx:
        assert expected_writes.RETENTION.forget(tx) == 2


def test_a_label_that_an_action_took_off_is_no_news_and_is_told_from_what_is_to_be_remembered(
    store: Database, account: Account
) -> None:
    account_id, label = account.account_id, "Label_1"
    ours = [change(place, "labels_removed", label, "UNREAD", message=f"m{place}") for place in (1, 2)]
    writes = [ExpectedWrite("labels_removed", message_id=one.message_id, label_id=label) for one in ours]
    with store.tenant(account.org_id) as tx:
        expected_writes.expect(tx, account_id, writes[:1])
        expected_writes.expect(tx, account_id, writes[1:], remember=expected_writes.REMEMBER)
        told = expected_writes.tell_apart(tx, account_id, ours)
    assert told.others == tuple(replace(one, label_ids=frozenset({"UNREAD"})) for one in ours)
    assert told.by_actions == (replace(ours[0], label_ids=frozenset({label})),)


def test_only_what_is_to_be_remembered_counts_as_taken_off_by_us(store: Database, account: Account) -> None:
    account_id, write = account.account_id, ExpectedWrite("labels_removed", message_id="m1", label_id="Label_1")
    since = datetime.now(UTC) - timedelta(minutes=1)
    for remember, is_known in [(expected_writes.KEEP, False), (expected_writes.REMEMBER, True)]:
        with store.tenant(account.org_id) as tx:
            expected_writes.expect(tx, account_id, [write], remember=remember)
            assert expected_writes.took_off(tx, account_id, ["m1"], {"Label_1"}, since=since) == is_known


def test_a_label_that_we_put_on_is_not_remembered(store: Database, account: Account, database: Connection) -> None:
    writes = [ExpectedWrite(kind, message_id="m1", label_id="Label_1") for kind in ("labels_added", "labels_removed")]
    with store.tenant(account.org_id) as tx:
        expected_writes.expect(tx, account.account_id, writes, remember=expected_writes.REMEMBER)
    later = "update expected_writes set created_at = created_at - %(by)s, expires_at = expires_at - %(by)s"
    database.execute(later, {"by": expected_writes.KEEP})
    with store.ledger() as tx:
        expected_writes.RETENTION.forget(tx)
    assert database.execute("select change from expected_writes").fetchall() == [("labels_removed",)]


def test_an_expectation_names_one_place_and_a_label_for_label_changes(store: Database, account: Account) -> None:
    for write in (
        ExpectedWrite("labels_added", message_id="m1"),
        ExpectedWrite("message_added", message_id="m1", label_id="Label_1"),
        ExpectedWrite("message_added"),
        ExpectedWrite("message_added", message_id="m1", thread_id="t1"),
    ):
        with pytest.raises(IntegrityError, match="violates check constraint"), store.tenant(account.org_id) as tx:
            expected_writes.expect(tx, account.account_id, [write])

"""Which records something is still expected of: found page by page, whatever their number."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.mail.correspondence import EmailState
from storage.mail import emails, messages
from storage.mail.accounts.accounts import Account
from storage.mail.emails import EndedThreadWait, MadeDraft, OpenRecord
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import NOON, WANTS_ANSWER, make_account, make_message, store_message

BEGINNING = datetime.min.replace(tzinfo=UTC)
STATES = [EmailState.DRAFTED, EmailState.PENDING] * 3


@pytest.fixture
def account(store: Database) -> Account:
    return make_account(store)


def opened(store: Database, account: Account, number: int = 0) -> str:
    """A thread that waits for its draft."""
    thread_id, message_id = f"t{number}", f"m{number}"
    store_message(store, account, make_message(message_id, thread_id))
    with store.tenant(account.org_id) as tx:
        emails.open_email(tx, account.account_id, thread_id=thread_id, message_id=message_id, decision=WANTS_ANSWER)
    return thread_id


def found(store: Database, account: Account, since: datetime = BEGINNING) -> list[OpenRecord]:
    """All of them, two at a time."""
    rows: list[OpenRecord] = []
    with store.tenant(account.org_id) as tx:
        while page := emails.open_records(
            tx, account.account_id, since=since, after=rows[-1] if rows else None, limit=2
        ):
            rows += page
    return rows


def test_all_are_found_in_pages(store: Database, account: Account) -> None:
    account_id = account.account_id
    for number, state in enumerate(STATES):
        thread_id = opened(store, account, number)
        with store.tenant(account.org_id) as tx:
            if state is EmailState.DRAFTED:
                draft = MadeDraft(f"r{number}", f"dm{number}", "f")
                emails.record_draft(tx, account_id, thread_id, expected=EmailState.PENDING, draft=draft)
    rows = found(store, account)
    assert sorted((one.thread_id, one.state) for one in rows) == [(f"t{n}", one) for n, one in enumerate(STATES)]
    assert found(store, account, datetime.now(UTC) + timedelta(hours=1)) == []


def test_records_of_one_time_are_all_found(store: Database, account: Account) -> None:
    account_id = account.account_id
    for number in range(5):
        store_message(store, account, make_message(f"m{number}", f"t{number}"))
    with store.tenant(account.org_id) as tx:
        for number in range(5):
            emails.open_email(tx, account_id, thread_id=f"t{number}", message_id=f"m{number}", decision=WANTS_ANSWER)
    assert len({one.since for one in found(store, account)}) == 1
    assert len(found(store, account)) == 5


def test_what_has_left_the_inbox_is_waited_for_by_hand_only(store: Database, account: Account) -> None:
    thread_id = opened(store, account)
    with store.tenant(account.org_id) as tx:
        messages.change_labels(tx, account.account_id, ["m0"], add=(), remove={"INBOX"})
    assert found(store, account) == []
    with store.tenant(account.org_id) as tx:
        assert emails.order_by_hand(tx, account.account_id, thread_id, at=datetime.now(UTC))
    (record,) = found(store, account)
    assert record.by_hand
    with store.tenant(account.org_id) as tx:
        messages.change_labels(tx, account.account_id, ["m0"], add={"TRASH"}, remove=())
    assert found(store, account) == []


def test_an_order_is_of_one_life_of_the_record(store: Database, account: Account) -> None:
    thread_id, account_id = opened(store, account), account.account_id
    with store.tenant(account.org_id) as tx:
        emails.order_by_hand(tx, account_id, thread_id, at=NOON)
        emails.order_by_hand(tx, account_id, thread_id, at=NOON - timedelta(hours=1))
        first = emails.get(tx, account_id, thread_id)
        emails.move(tx, account_id, thread_id, expected=EmailState.PENDING, to=EmailState.SKIPPED)
        assert not emails.order_by_hand(tx, account_id, thread_id, at=NOON), "it waits for none"
        emails.reopen(tx, account_id, thread_id, expected=EmailState.SKIPPED, message_id="m0")
        second = emails.get(tx, account_id, thread_id)
    assert first is not None
    assert second is not None
    assert (first.by_hand_at, second.by_hand_at) == (NOON, None)


def test_only_a_record_that_waits_for_its_draft_waits_by_hand(store: Database, account: Account) -> None:
    thread_id, account_id, by_hand = opened(store, account), account.account_id, list[bool]()

    def look(tx: Transaction) -> None:
        email = emails.get(tx, account_id, thread_id)
        assert email is not None
        by_hand.append(email.before.by_hand)

    with store.tenant(account.org_id) as tx:
        look(tx)
        emails.order_by_hand(tx, account_id, thread_id, at=NOON)
        look(tx)
        emails.move(tx, account_id, thread_id, expected=EmailState.PENDING, to=EmailState.SKIPPED)
        look(tx)
    assert by_hand == [False, True, False]


def test_an_order_is_withdrawn_with_the_last_label(store: Database, account: Account) -> None:
    account_id, label = account.account_id, "Label_1"
    thread_id = opened(store, account)
    store_message(store, account, make_message("m1", thread_id, minutes=1))
    with store.tenant(account.org_id) as tx:
        emails.order_by_hand(tx, account_id, thread_id, at=NOON)
        messages.change_labels(tx, account_id, ["m1"], add={label}, remove=())
        assert emails.withdraw_orders(tx, account_id, ["m0"], {label}) == ()
        messages.change_labels(tx, account_id, ["m1"], add=(), remove={label})
        assert emails.withdraw_orders(tx, account_id, ["m1"], {label}) == (
            EndedThreadWait(thread_id, "m0", in_doubt=False),
        )
        assert emails.withdraw_orders(tx, account_id, ["m1"], {label}) == ()


def test_taking_the_label_off_what_a_decision_wants_withdraws_nothing(store: Database, account: Account) -> None:
    opened(store, account)
    with store.tenant(account.org_id) as tx:
        assert emails.withdraw_orders(tx, account.account_id, ["m0"], {"Label_1"}) == ()


def test_messages_whose_label_alone_orders_a_draft_are_found(store: Database, account: Account) -> None:
    account_id, ordered = account.account_id, {"Label_1", "Label_2"}
    for number in range(5):
        opened(store, account, number)
    by_service, drafted, without_label, by_label = (f"t{number}" for number in range(1, 5))
    with store.tenant(account.org_id) as tx:
        for thread_id in (by_service, drafted, without_label, by_label):
            emails.order_by_hand(tx, account_id, thread_id, at=NOON, by_service=thread_id == by_service)
        messages.change_labels(tx, account_id, ["m0", "m1", "m2", "m4"], add={"Label_2"}, remove=())
        draft = MadeDraft("r2", "dm2", "f")
        emails.record_draft(tx, account_id, drafted, expected=EmailState.PENDING, draft=draft)
        assert emails.ordering_messages(tx, account_id, ordered) == ("m4",), (
            "m0 was decided on, m1 ordered by a service, too"
        )
        assert emails.ordering_messages(tx, account_id, {"Label_3"}) == ()


@pytest.mark.parametrize("away", ["TRASH", "SPAM"])
def test_a_message_that_was_thrown_away_orders_nothing_that_a_search_could_show(
    store: Database, account: Account, away: str
) -> None:
    account_id, thread_id = account.account_id, opened(store, account)
    with store.tenant(account.org_id) as tx:
        emails.order_by_hand(tx, account_id, thread_id, at=NOON)
        messages.change_labels(tx, account_id, ["m0"], add={"Label_1"}, remove=())
        assert emails.ordering_messages(tx, account_id, {"Label_1"}) == ("m0",)
        messages.change_labels(tx, account_id, ["m0"], add={away}, remove=())
        assert emails.ordering_messages(tx, account_id, {"Label_1"}) == ()

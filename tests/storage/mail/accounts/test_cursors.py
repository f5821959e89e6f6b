"""The cursor only moves forward, as a number (docs: gmail.md#history)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from storage.mail.accounts import cursors
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, make_account

LARGEST = 2**64 - 1


def test_the_first_cursor_is_set_once(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        assert cursors.current(tx, account.account_id).history_id is None
        assert not cursors.advance_cursor(tx, account.account_id, 5)
        assert cursors.set_first_cursor(tx, account.account_id, 7)
        assert not cursors.set_first_cursor(tx, account.account_id, 9)
        assert cursors.current(tx, account.account_id).history_id == 7


def test_ids_are_compared_as_numbers_up_to_the_largest(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        cursors.set_first_cursor(tx, account.account_id, 9)
        moved = [cursors.advance_cursor(tx, account.account_id, new) for new in (10, 9, 10, 100, LARGEST, LARGEST)]
        assert moved == [True, False, False, True, True, False]
        assert cursors.current(tx, account.account_id).history_id == LARGEST


def test_two_syncs_at_once_leave_the_larger(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        cursors.set_first_cursor(tx, account.account_id, 1)

    def advance(new: int) -> bool:
        with store.tenant(account.org_id) as tx:
            return cursors.advance_cursor(tx, account.account_id, new)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(advance, [40, 20, 30, 10, 25]))
    with store.tenant(account.org_id) as tx:
        assert cursors.current(tx, account.account_id).history_id == 40


def test_the_mark_of_a_full_sync_never_goes_back(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        cursors.mark_full_sync(tx, account.account_id, NOON, asked="a model")
        cursors.mark_full_sync(tx, account.account_id, NOON - timedelta(hours=1), asked="a model")
        assert cursors.current(tx, account.account_id).full_synced_at == NOON

"""Refused pushes are counted by reason and day, and only the fleet can see them."""

from datetime import date

import pytest

from domain.jobs.failures import Forbidden, Invalid
from storage.mail.accounts import pushes
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account


def test_refused_pushes_are_counted_by_reason(store: Database) -> None:
    for reason in ("bad_payload", "unknown_account", "bad_payload"):
        with store.ledger() as tx:
            pushes.count_refused(tx, reason)
    with store.ledger() as tx:
        assert pushes.count_refused(tx, "bad_payload") == 3
        found = pushes.refused_since(tx, date(2020, 1, 1))
        assert pushes.refused_since(tx, date(9999, 1, 1)) == ()
    assert [(one.reason, one.count) for one in found] == [("bad_payload", 3), ("unknown_account", 1)]


def test_a_reason_is_a_word_and_no_content_of_a_push(store: Database) -> None:
    with pytest.raises(Invalid, match="reason: breaks"), store.ledger() as tx:
        pushes.count_refused(tx, "bad payload: me@example.com")


def test_a_handler_does_not_see_them(store: Database) -> None:
    account = make_account(store)
    with pytest.raises(Forbidden), store.tenant(account.org_id) as tx:
        pushes.refused_since(tx, date(2020, 1, 1))

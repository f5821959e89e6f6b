"""Rules are read against what their mailbox or their org has."""

from functools import partial
from typing import Any

import pytest

from domain.jobs.failures import Gone
from domain.mail.mailbox import MailboxLabel
from domain.mail.rule_language.defects import RefusedRules
from domain.mail.rule_language.rule_file import read_rule_document
from storage.accounts import accounts, labels
from storage.accounts.accounts import Account
from storage.postgres.database import Database
from storage.rules.rule_contexts import read_checked
from tests.doubles.mail_factories import make_account


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with a label and an alias."""
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel("Label_7", "Receipts", "user")])
        accounts.save_own_addresses(tx, account.account_id, ["other@example.net"])
    return account


def refused(store: Database, account: Account, action: dict[str, Any], *, of_org: bool) -> str:
    document = {"name": "x", "when": {"subject": "x"}, "then": {"actions": [action]}}
    with store.ledger() as tx, pytest.raises(RefusedRules) as refusal:
        here = None if of_org else account.account_id
        read_checked(tx, account.org_id, here, partial(read_rule_document, document))
    return refusal.value.reason


@pytest.mark.parametrize("of_org", [False, True], ids=["mailbox", "org"])
def test_a_rule_that_could_never_do_what_it_says_is_refused(store: Database, account: Account, of_org: bool) -> None:
    past = refused(store, account, {"snooze": {"until": "2026-01-01T00:00:00Z"}}, of_org=of_org)
    assert "is in the past" in past
    for address in (account.email, "Other+x@example.net"):
        assert "comes back to the rule" in refused(store, account, {"forward": address}, of_org=of_org)
    assert "names no label of" in refused(store, account, {"apply_label": "Label_8"}, of_org=of_org)


def test_names_are_a_mailboxs_own(store: Database, account: Account) -> None:
    assert "by its id: 'Receipts'" in refused(store, account, {"apply_label": "Receipts"}, of_org=True)
    document = {"name": "x", "when": {"label": "INBOX"}, "then": {"actions": [{"apply_label": "Label_7"}]}}
    read = partial(read_rule_document, document)
    with store.ledger() as tx:
        assert read_checked(tx, account.org_id, None, read) == read_rule_document(document)
        other = make_account(store, org="another org")
        with pytest.raises(Gone):
            read_checked(tx, other.org_id, account.account_id, read)
        with pytest.raises(RefusedRules):
            read_checked(tx, other.org_id, None, read)

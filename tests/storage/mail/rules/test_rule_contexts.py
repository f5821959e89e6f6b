"""Rules are read against what their mailbox or their org has."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from domain.documents.faults import RefusedDocument
from domain.jobs.failures import Gone
from domain.jobs.job import Origin
from domain.mail.mailbox import MailboxLabel
from domain.mail.rule_language.rule_context import RuleContext
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rule_words import WrittenRule
from domain.models.agents.profile import parse_profile
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.mail.rules.rule_contexts import read_checked
from storage.models.agents import profiles
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import make_account

PROFILE = {"prompt": "Be kind.", "model": "m-1", "tools": ["archive"]}


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with a label and an alias."""
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel("Label_7", "Receipts", "user")])
        accounts.save_own_addresses(tx, account.account_id, ["other@example.net", "me@bücher.example"])
    return account


def refused(store: Database, account: Account, action: dict[str, Any], *, of_org: bool) -> str:
    document = {"name": "x", "when": {"subject": "x"}, "then": {"actions": [action]}}
    with pytest.raises(RefusedDocument) as refusal:
        here = None if of_org else account.account_id
        read_checked(store.ledger, account.org_id, here, partial(read_rule_document, document))
    return refusal.value.reason


@pytest.mark.parametrize("of_org", [False, True], ids=["mailbox", "org"])
def test_a_rule_that_could_never_do_what_it_says_is_refused(store: Database, account: Account, of_org: bool) -> None:
    past = refused(store, account, {"snooze": {"until": "2026-01-01T00:00:00Z"}}, of_org=of_org)
    assert "is in the past" in past
    for address in (account.email, "Other+x@example.net", '"Me+x"@BÜCHER.example'):
        assert "comes back" in refused(store, account, {"forward": address}, of_org=of_org)
    assert "names no label of" in refused(store, account, {"apply_label": "Label_8"}, of_org=of_org)


def test_names_are_a_mailboxs_own(store: Database, account: Account) -> None:
    assert "by its id: 'Receipts'" in refused(store, account, {"apply_label": "Receipts"}, of_org=True)
    document = {"name": "x", "when": {"label": "INBOX"}, "then": {"actions": [{"apply_label": "Label_7"}]}}
    read = partial(read_rule_document, document)
    assert read_checked(store.ledger, account.org_id, None, read) == read_rule_document(document)
    other = make_account(store, org="another org")
    with pytest.raises(Gone):
        read_checked(store.ledger, other.org_id, account.account_id, read)
    with pytest.raises(RefusedDocument):
        read_checked(store.ledger, other.org_id, None, read)


@pytest.mark.parametrize("of_org", [False, True], ids=["mailbox", "org"])
def test_no_transaction_is_open_while_rules_are_read(store: Database, account: Account, of_org: bool) -> None:
    document = {"name": "x", "when": {"label": "Label_7"}, "then": {"actions": [{"apply_label": "Label_7"}]}}
    open_now: list[bool] = []

    @contextmanager
    def begin() -> Iterator[Transaction]:
        open_now.append(True)
        with store.ledger() as tx:
            yield tx
        open_now.pop()

    def read(context: RuleContext) -> tuple[WrittenRule, ...]:
        assert not open_now
        return read_rule_document(document, context)

    assert read_checked(begin, account.org_id, None if of_org else account.account_id, read)


def test_a_route_names_a_profile_of_the_mailbox_or_of_its_org(store: Database, account: Account) -> None:
    other = make_account(store, email="other@example.com")
    with store.ledger() as tx:
        for name, here in (("ours", None), ("mine", account.account_id), ("theirs", other.account_id)):
            profile = parse_profile(PROFILE | {"name": name})
            profiles.add(tx, account.org_id, profile, account_id=here, by=Origin())
        profiles.switch(tx, account.org_id, "ours", enabled=False, by=Origin())

    def taken(here: UUID | None) -> list[str]:
        return [name for name in ("ours", "mine", "theirs", "nobodys") if is_taken(store, account, name, here)]

    assert taken(account.account_id) == ["ours", "mine"]
    assert taken(None) == ["ours", "mine", "theirs"]


def is_taken(store: Database, account: Account, name: str, here: UUID | None) -> bool:
    document = {"name": "x", "when": {"subject": "x"}, "then": {"route": f"agent:{name}"}}
    try:
        return bool(read_checked(store.ledger, account.org_id, here, partial(read_rule_document, document)))
    except RefusedDocument as refusal:
        return refusal.field != "/then/route"

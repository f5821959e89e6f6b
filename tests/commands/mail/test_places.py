"""A mailbox is named by its id or its address in every command, and refused in the same words."""

from uuid import uuid4

import click
import pytest

import commands
from domain.jobs.failures import Gone, Invalid
from operations.accounts import account_of
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account

MOST_COMMANDS_AGREE = 10
"""There are more commands about one mailbox than this; the walk has found them."""


def test_every_command_takes_a_mailbox_as_text() -> None:
    groups = [one for one in commands.COMMANDS.values() if isinstance(one, click.Group)]
    found = [
        (f"{group.name} {command.name}", parameter)
        for group in groups
        for command in group.commands.values()
        for parameter in command.params
        if parameter.name in {"account", "account_id"} or "--account" in parameter.opts
    ]
    assert len(found) > MOST_COMMANDS_AGREE
    for command_name, parameter in found:
        named = "account" if isinstance(parameter, click.Argument) else "--account"
        assert (parameter.opts, parameter.type) == ([named], click.STRING), command_name


def test_a_mailbox_is_found_by_id_or_address_in_any_case(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        for text in (str(account.account_id), account.email, account.email.upper()):
            for org_id in (None, account.org_id):
                assert account_of(tx, text, org_id).account_id == account.account_id


def test_what_is_no_mailbox_is_named(store: Database) -> None:
    account, other = make_account(store), make_account(store, org="another org")
    with store.ledger() as tx:
        for text in (str(uuid4()), "nobody", "no@example.com", ""):
            with pytest.raises(Gone, match=f"there is no account {text}$"):
                account_of(tx, text)
        with pytest.raises(Gone, match=f"there is no account {account.account_id} in the org"):
            account_of(tx, str(account.account_id), other.org_id)
        with pytest.raises(Invalid, match=f"several orgs have connected {account.email}; give the id"):
            account_of(tx, account.email)
        assert account_of(tx, account.email, other.org_id).account_id == other.account_id

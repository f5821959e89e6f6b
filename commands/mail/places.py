"""Which mailbox, and which org, an operator means."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import click

from domain.jobs.failures import Gone, Invalid
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.ledger import orgs
from storage.postgres.database import Transaction

account_option = click.option("--account", help="A mailbox: its id or address.")
org_option = click.option("--org", help="The whole org: its id or name.")


@dataclass(frozen=True, slots=True)
class Place:
    """A mailbox, or a whole org."""

    org_id: UUID
    account: Account | None = None

    @property
    def account_id(self) -> UUID | None:
        """The mailbox's id, if one is meant."""
        return self.account.account_id if self.account else None


def place_of(tx: Transaction, account: str | None, org: str | None) -> Place:
    """What the options name; raises `Invalid` unless exactly one is given."""
    if (account is None) == (org is None):
        raise Invalid("account", "give one mailbox, or a whole org with --org")
    if org is not None:
        return Place(orgs.find(tx, org))
    found = account_of(tx, str(account))
    return Place(found.org_id, found)


def account_of(tx: Transaction, text: str, org_id: UUID | None = None) -> Account:
    """The mailbox of that id or address, of the org if one is named: every command reads a mailbox by this.

    Raises `Gone`, or `Invalid` where two orgs have connected the address.
    """
    found = [one for one in _by_id_or_address(tx, text) if org_id in {None, one.org_id}]
    if not found:
        raise Gone(f"there is no account {text}" if org_id is None else f"there is no account {text} in the org")
    if len(found) > 1:
        raise Invalid("account", f"several orgs have connected {text}; give the id")
    return found[0]


def _by_id_or_address(tx: Transaction, text: str) -> Sequence[Account]:
    try:
        account_id = UUID(text)
    except ValueError:
        return accounts.by_email(tx, text)
    try:
        return (accounts.get(tx, account_id),)
    except Gone:
        return ()

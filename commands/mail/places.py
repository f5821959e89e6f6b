"""Which mailbox, and which org, an operator means."""

from dataclasses import dataclass
from uuid import UUID

import click

from domain.jobs.failures import Invalid
from operations.accounts import account_of
from storage.accounts.accounts import Account
from storage.ledger import orgs
from storage.postgres.database import Transaction

account_option = click.option("--account", help="A mailbox: its id or address.")
org_option = click.option("--org", help="The whole org: its id or name.")


@dataclass(frozen=True, slots=True)
class Target:
    """A mailbox, or a whole org."""

    org_id: UUID
    account: Account | None = None

    @property
    def account_id(self) -> UUID | None:
        """The mailbox's id, if one is meant."""
        return self.account.account_id if self.account else None


def target_of(tx: Transaction, account: str | None, org: str | None) -> Target:
    """What the options name; raises `Invalid` unless exactly one is given."""
    if (account is None) == (org is None):
        raise Invalid("account", "give one mailbox, or a whole org with --org")
    if org is not None:
        return Target(orgs.find(tx, org))
    found = account_of(tx, str(account))
    return Target(found.org_id, found)

"""Which mailbox, or which org, somebody means, and whether anybody may write for the mailbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Conflict, Gone, Invalid
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Target:
    """A mailbox, or a whole org."""

    org_id: UUID
    account: Account | None = None

    @property
    def account_id(self) -> UUID | None:
        """The mailbox's id, if one is meant."""
        return self.account.account_id if self.account else None


def account_of(tx: Transaction, name: UUID | str, org_id: UUID | None = None) -> Account:
    """The account of that id, or the open one of that address, of the org if one is named.

    Every entry point reads it so. Raises `Gone`, or `Invalid` where two orgs have connected the address.
    """
    found = [one for one in _by_id_or_address(tx, str(name)) if org_id in {None, one.org_id}]
    if not found:
        raise Gone(f"there is no account {name}" if org_id is None else f"there is no account {name} in the org")
    if len(found) > 1:
        raise Invalid("account", f"several orgs have connected {name}; give the id")
    return found[0]


def target_of(tx: Transaction, name: UUID | str | None, org_id: UUID | None) -> Target:
    """The mailbox that is named or, without a name, the org; raises as `account_of`, and `Invalid` without either."""
    if name is not None:
        account = account_of(tx, name, org_id)
        return Target(account.org_id, account)
    if org_id is None:
        raise Invalid("account", "give one mailbox, or a whole org with --org")
    return Target(org_id)


def target_to_write(tx: Transaction, name: UUID | str | None, org_id: UUID | None) -> Target:
    """As `target_of`, for every deed about a mailbox: nobody closes the account before the transaction ends.

    Raises `Conflict` for a closed account, which nothing would read: the mailbox has another one, or is not connected.
    """
    target = target_of(tx, name, org_id)
    if target.account_id is not None and accounts.lock(tx, target.account_id) == "disconnected":
        raise Conflict("account_id: the account is disconnected")
    return target


def _by_id_or_address(tx: Transaction, text: str) -> Sequence[Account]:
    try:
        account_id = UUID(text)
    except ValueError:
        return [one for one in accounts.by_email(tx, text) if one.is_open]
    try:
        return (accounts.get(tx, account_id),)
    except Gone:
        return ()

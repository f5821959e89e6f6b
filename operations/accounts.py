"""Which mailbox somebody means."""

from collections.abc import Sequence
from uuid import UUID

from domain.jobs.failures import Gone, Invalid
from operations.call import Call
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.postgres.database import Transaction


def account_of(tx: Transaction, text: str, org_id: UUID | None = None) -> Account:
    """The account of that id, or the open one of that address, of the org if one is named: every command reads it so.

    Raises `Gone`, or `Invalid` where two orgs have connected the address.
    """
    found = [one for one in _by_id_or_address(tx, text) if org_id in {None, one.org_id}]
    if not found:
        raise Gone(f"there is no account {text}" if org_id is None else f"there is no account {text} in the org")
    if len(found) > 1:
        raise Invalid("account", f"several orgs have connected {text}; give the id")
    return found[0]


def org_of(call: Call, tx: Transaction, account_id: UUID | None) -> UUID:
    """The org of a mailbox or, without one, the org that the caller acts for.

    Raises `Gone` for another org's mailbox, and `Invalid` where an operator names neither.
    """
    if account_id is not None:
        return call.found(accounts.get(tx, account_id), f"account {account_id}").org_id
    if call.org_id is None:
        raise Invalid("account", "give one mailbox, or a whole org with --org")
    return call.org_id


def _by_id_or_address(tx: Transaction, text: str) -> Sequence[Account]:
    try:
        account_id = UUID(text)
    except ValueError:
        return [one for one in accounts.by_email(tx, text) if one.is_open]
    try:
        return (accounts.get(tx, account_id),)
    except Gone:
        return ()

"""Gmail's push watch of a mailbox, and the addresses that the account may send as."""

from dataclasses import dataclass
from datetime import datetime

from domain.jobs.failures import Conflict
from providers.ports import Mailbox
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class MadeWatch:
    """Until when Gmail pushes, and which addresses are the account's own."""

    expires_at: datetime
    own_addresses: tuple[str, ...]


def renew(mailbox: Mailbox, topic: str) -> MadeWatch:
    """Make the watch, or make it anew; the cursor stays as it is."""
    try:
        watch = mailbox.watch(topic)
    except Conflict:
        # Gmail allows one push client per developer, so stop the old one first (docs: gmail-push.md#watch).
        mailbox.stop_watch()
        watch = mailbox.watch(topic)
    own = sorted(one.address for one in mailbox.send_as() if one.is_verified)
    return MadeWatch(watch.expires_at, tuple(own))


def record(tx: Transaction, account: Account, made: MadeWatch) -> None:
    """Store both."""
    accounts.record_watch(tx, account.account_id, expires_at=made.expires_at)
    accounts.save_own_addresses(tx, account.account_id, made.own_addresses)

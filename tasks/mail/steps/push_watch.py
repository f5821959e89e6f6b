"""Gmail's push watch of a mailbox, and the addresses that the account may send as."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.jobs.failures import Conflict
from domain.jobs.job import Done
from engine.context import JobContext
from providers.ports import Mailbox
from storage.jobs import audit
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Transaction
from storage.postgres.retention import BATCH

AUDITS = ("watch.lapsed",)
MUST_BE_YOUNGER_THAN = timedelta(hours=24)
"""An account whose watch was not renewed within a day must alarm (docs: gmail-push.md#watch)."""


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


def report_lapsed(ctx: JobContext) -> Done:
    """Raise the alarm for accounts of the fleet whose watch has expired or was not renewed in time."""
    with ctx.fleet() as tx:
        lapsed = accounts.without_watch(tx, ctx.now(), renewal=MUST_BE_YOUNGER_THAN, limit=BATCH)

    # With the end of the job: an attempt that dies has raised no alarm.
    def write(tx: Transaction) -> None:
        for account in lapsed:
            audit.append(tx, ctx.job, "watch.lapsed", {"account_id": str(account.account_id)})
        if lapsed:
            tx.after_commit(lambda: ctx.log.error("watches_lapsed", accounts=len(lapsed)))

    return Done({"lapsed": len(lapsed)}, writes=write)

"""By whom an org's mail leaves."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Gone
from domain.notifications.sender import NO_PROVIDER, EmailProvider, SenderIdentity
from storage.orgs.secrets import org_credentials
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_COUNTED = 1_000
"""Mails that wait: what an operator wants to know is whether they are few or many."""


@dataclass(frozen=True, slots=True)
class EmailSender:
    """The sender of an org."""

    org_id: UUID
    identity: SenderIdentity
    secret: str
    """The name of the org's secret that holds the credentials."""
    set_at: datetime
    """Tells its credentials from earlier and later ones (`storage.orgs.secrets.org_credentials`)."""
    set_by: str

    @property
    def provider(self) -> str:
        """Who sends."""
        return self.identity.provider.value


class WaitingEmail(NamedTuple):
    """An org's mail that is not sent yet, counted up to `MOST_COUNTED`."""

    mails: int
    since: datetime | None


def find(tx: Transaction, org_id: UUID) -> EmailSender | None:
    """The org's sender; None where it has none."""
    rows = tx.run("find_email_sender", org_id=org_id)
    return _sender(rows[0]) if rows else None


def get(tx: Transaction, org_id: UUID) -> EmailSender:
    """The org's sender; raises `Gone` where it has none."""
    found = find(tx, org_id)
    if found is None:
        raise Gone("the org has no sender")
    return found


def choose(tx: Transaction, org_id: UUID, identity: SenderIdentity, *, secret: str, by: str) -> EmailSender:
    """Let the org's mail leave so from now on, and mail go on that waited for a sender. For the ledger role."""
    # All of them: what an earlier provider refused, or made the org wait for, is no matter to this one.
    times = {org_credentials.replace(tx, org_id, provider) for provider in (NO_PROVIDER, *EmailProvider)}
    (set_at,) = times
    rows = tx.run(
        "set_email_sender",
        org_id=org_id,
        provider=identity.provider.value,
        from_address=identity.from_address,
        mailbox=identity.mailbox,
        secret=secret,
        set_at=set_at,
        set_by=by,
    )
    return _sender(rows[0])


def waiting(tx: Transaction, org_id: UUID) -> WaitingEmail:
    """What waits to be sent."""
    return WaitingEmail(*tx.run("waiting_email", org_id=org_id, most=MOST_COUNTED)[0])


def _sender(row: Row) -> EmailSender:
    identity = SenderIdentity(EmailProvider(row.provider), row.from_address, row.mailbox)
    return EmailSender(row.org_id, identity, row.secret, row.set_at, row.set_by)

"""Connects a mailbox with an owner's consent: tokens, gate and audit entry in one transaction, whichever door it is."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.gate_causes import Cause
from domain.jobs.job import NewJob, Origin
from domain.mail.consent import MailboxOwners, RefusedConsent, refusal_for
from domain.mail.onboarding import connection_jobs
from domain.payloads.payload import jobs_of
from storage.accounts import accounts
from storage.accounts.accounts import Account, Consent
from storage.audit import deeds
from storage.ledger import gates
from storage.postgres.database import Transaction
from storage.secrets.sealing import Sealer


@dataclass(frozen=True, slots=True)
class OrgMailbox:
    """Which mailbox of which org, and who owns it."""

    org_id: UUID
    email: str
    owner: str


@dataclass(frozen=True, slots=True)
class AddedMailbox:
    """The account, and whether it is new."""

    account: Account
    created: bool
    lost_at: datetime | None
    """When its consent had been lost; None when it was not."""
    began_at: datetime | None
    """When it was connected, for the first time or after a disconnection; None where only the consent is new."""

    def first_jobs(self, by: Origin) -> list[NewJob]:
        """What the connection starts, each made when it began: what is older may be an earlier owner's."""
        account = self.account
        first = connection_jobs(account.account_id, account.status_changed_at, self.lost_at)
        return [one._replace(created_at=self.began_at) for one in jobs_of(first, org_id=account.org_id, origin=by)]


def connect(
    tx: Transaction, sealer: Sealer, mailbox: OrgMailbox, consent: Consent, *, by: Origin
) -> AddedMailbox | RefusedConsent:
    """Store a consent and let the account's parked jobs go on; its first jobs are the caller's to enqueue.

    Connecting again is re-consent. Refuses a mailbox that another org has, or that another Google user connected; then
    nothing was written. Who connects a mailbox waits for others that do so at the time. For the ledger role.
    """
    accounts.lock_mailbox(tx, mailbox.email)
    refused = refusal_for(_owners(tx, mailbox), mailbox.email, consent.subject)
    if refused is not None:
        return refused
    account_id, created = accounts.ensure(tx, mailbox.org_id, mailbox.email, mailbox.owner)
    before = accounts.get(tx, account_id)
    accounts.connect(tx, sealer, account_id, consent)
    # A person's pause of the account, and a provider's wish to wait, stay.
    gates.open_gate(tx, "account", str(account_id), Cause.CONSENT)
    lost_at = before.status_changed_at if before.status == "needs_reconsent" else None
    facts = {"account_id": str(account_id), "created": created, "regained": lost_at is not None}
    deeds.record(tx, "account.connected", facts, by=by, org_id=mailbox.org_id)
    account = accounts.get(tx, account_id)
    began_at = account.connected_at if before.status == "disconnected" else None
    return AddedMailbox(account, created, lost_at, began_at)


def _owners(tx: Transaction, mailbox: OrgMailbox) -> MailboxOwners:
    known = accounts.by_email(tx, mailbox.email)
    ours = next((accounts.get(tx, one.account_id) for one in known if one.org_id == mailbox.org_id), None)
    return MailboxOwners(
        subject=ours.google_subject if ours else None,
        is_elsewhere=any(one.org_id != mailbox.org_id and one.status != "disconnected" for one in known),
    )

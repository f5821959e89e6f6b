"""Connects a mailbox with an owner's consent: tokens, gate and audit entry in one transaction, whoever asks."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.gate_causes import Cause
from domain.jobs.job import JsonObject, NewJob, Origin
from domain.mail.consent import MailboxOwners, RefusedConsent, refusal_for
from domain.notifications.alerts.alert import Alert, AlertKind, payload_of
from domain.payloads.accounts import first_jobs
from domain.payloads.payload import Payload, jobs_of
from storage.jobs import gates
from storage.jobs.audit_log import deeds
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account, Consent
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class OrgMailbox:
    """Which mailbox of which org, and who owns it."""

    org_id: UUID
    email: str
    owner: str


@dataclass(frozen=True, slots=True)
class AddedMailbox:
    """The account, and whether it was not connected before."""

    account: Account
    created: bool
    lost_at: datetime | None
    """When its consent had been lost; None when it was not."""

    def first_jobs(self, by: Origin) -> list[NewJob]:
        """What the connection starts; one that ends a loss of consent also has an alert, once for each loss."""
        account = self.account
        jobs: list[Payload] = [*first_jobs(account.account_id, account.reopened_at)]
        if self.lost_at is not None:
            jobs.append(payload_of(Alert(AlertKind.CONSENT_BACK, str(account.account_id), self.lost_at)))
        return jobs_of(jobs, org_id=account.org_id, origin=by)


def connect(
    tx: Transaction, sealer: Sealer, mailbox: OrgMailbox, consent: Consent, *, by: Origin
) -> AddedMailbox | RefusedConsent:
    """Store a consent and let the account's parked jobs go on; its first jobs are the caller's to enqueue.

    A mailbox keeps its account as long as it is connected, and is given it back when the same Google user connects it
    after a disconnection. Refuses a mailbox that another org has, that another Google user has connected, or that a
    known one had where nobody says that it is the same one; then nothing was written. Who connects a mailbox waits for
    others that do so at the time. For the ledger role.
    """
    accounts.lock_mailbox(tx, mailbox.email)
    refused = refusal_for(_owners(tx, mailbox), mailbox.email, consent.subject)
    if refused is not None:
        return refused
    account_id, created = accounts.open_account(tx, mailbox.org_id, mailbox.email, mailbox.owner, consent.subject)
    before = accounts.get(tx, account_id)
    accounts.connect(tx, sealer, account_id, consent)
    # A person's pause of the account, and a provider's wish to wait, stay.
    gates.open_gate(tx, "account", str(account_id), Cause.CONSENT)
    lost_at = before.status_changed_at if before.status == "needs_reconsent" and not created else None
    reopened = created and before.reopened_at is not None
    facts: JsonObject = {
        "account_id": str(account_id), "created": created and not reopened, "reopened": reopened,
        "regained": lost_at is not None,
    }  # fmt: skip
    deeds.record(tx, "account.connected", facts, by=by, org_id=mailbox.org_id)
    return AddedMailbox(accounts.get(tx, account_id), created, lost_at)


def _owners(tx: Transaction, mailbox: OrgMailbox) -> MailboxOwners:
    known = accounts.by_email(tx, mailbox.email)
    ours = [one for one in known if one.org_id == mailbox.org_id]
    return MailboxOwners(
        subject=next((one.google_subject for one in ours if one.is_open), None),
        was_known=any(one.google_subject for one in ours),
        is_elsewhere=any(one.is_open and one.org_id != mailbox.org_id for one in known),
    )

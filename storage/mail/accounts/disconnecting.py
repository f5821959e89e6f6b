"""Disconnects a mailbox: tokens, what waits in it and the audit entry in one transaction, whoever asks."""

from uuid import UUID

from domain.jobs.failures import Conflict
from domain.jobs.job import JsonObject, Origin
from domain.payloads.approvals import ShowOutcomePayload
from storage.jobs.audit_log import deeds
from storage.mail import emails
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.actions.actions import Enqueue
from storage.postgres.database import Transaction


def disconnect(tx: Transaction, account_id: UUID, enqueue: Enqueue, *, reason: str, by: Origin) -> JsonObject:
    """Close an account, and end what its owner has left waiting; returns what the audit log says of it.

    Each question of an action shows that it ended. Raises `Conflict` when it is closed already. For the ledger role.
    """
    # Before the row, as who connects it: a connection at the same time finds the account closed, and opens it again.
    accounts.lock_mailbox(tx, accounts.get(tx, account_id).email)
    accounts.lock(tx, account_id)
    ended = actions.cancel_waiting(tx, account_id)
    orders = emails.end_orders_by_hand(tx, account_id)
    if ended:
        enqueue(tx, *(ShowOutcomePayload(account_id=account_id, approval_id=one) for one in ended))
    if not accounts.disconnect(tx, account_id, reason):
        raise Conflict("the account is disconnected already")
    org_id = accounts.get(tx, account_id).org_id
    facts: JsonObject = {
        "account_id": str(account_id), "reason": reason,
        "canceled_actions": [str(one) for one in ended], "ended_orders": orders,
    }  # fmt: skip
    deeds.record(tx, "account.disconnected", facts, by=by, org_id=org_id)
    return facts

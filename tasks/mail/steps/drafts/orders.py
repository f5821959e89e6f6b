"""Orders of drafts by a label: withdrawn with it, and ordered again by an undo.

(docs: drafts-by-hand.md#by-hand)
"""

from collections.abc import Collection
from uuid import UUID

from domain.mail.correspondence import ORDERING, SETTLED, EmailState, LabelRole
from domain.payloads.drafts import ReworkPayload, WriteManualPayload, WritePayload
from domain.payloads.payload import Payload
from engine.context import JobContext
from storage.mail import emails, messages
from storage.mail.accounts import labels
from storage.mail.emails import Email
from storage.postgres.database import Transaction
from tasks.mail.steps.mailbox_change import MailboxChange


def ordering_labels(tx: Transaction, account_id: UUID) -> frozenset[str]:
    """The ids of the labels that order a draft."""
    return frozenset(one for one, role in labels.roles_by_id(tx, account_id).items() if role in ORDERING)


def withdraw(
    tx: Transaction, account_id: UUID, message_ids: Collection[str], label_ids: Collection[str]
) -> list[Payload]:
    """Withdraw the orders of threads that have lost their label by these messages.

    Returns the jobs that look for drafts which were made and not recorded before that.
    """
    return [
        WritePayload(account_id=account_id, thread_id=one.thread_id, message_id=one.message_id)
        for one in emails.withdraw_orders(tx, account_id, message_ids, label_ids)
        if one.in_doubt
    ]


def withdraw_after(ctx: JobContext, tx: Transaction, changed: MailboxChange, lost: Collection[str]) -> None:
    """Withdraw the order of which an action took the label off; `lost` are the labels that its message lost."""
    account_id = changed.account.account_id
    orders = ordering_labels(tx, account_id) if lost else frozenset[str]()
    if orders.intersection(lost):
        ctx.enqueue(tx, *withdraw(tx, account_id, changed.carried.keys(), orders))


def order_again(ctx: JobContext, tx: Transaction, changed: MailboxChange) -> None:
    """Order anew what an undo has put the label on again for, unless the thread's record knows of it."""
    account_id = changed.account.account_id
    roles = labels.roles_by_id(tx, account_id)
    put_on = {roles[one] for one in changed.change.labels.add & roles.keys()} & ORDERING
    threads = {messages.get(tx, account_id, message_id).thread_id for message_id in changed.carried} if put_on else ()
    for thread_id in threads:
        email = emails.get(tx, account_id, thread_id)
        for role in sorted(put_on):
            if is_new_order(role, email):
                payload = ReworkPayload if role is LabelRole.REWORK else WriteManualPayload
                ctx.enqueue(tx, payload(account_id=account_id, thread_id=thread_id, by_label=True))


def is_new_order(role: LabelRole, email: Email | None) -> bool:
    """Whether a label that a thread carries asks for something that its record does not know of yet.

    A record that waits for a draft by hand is looked at by its age (`emails.open_records`), also where *Rework* ordered
    the first one. *Needs Response* shows our own pending records, too.
    """
    if role is LabelRole.DONE or email is None:
        return True
    if email.state is EmailState.PENDING and email.by_hand_at is not None:
        return False
    return role is LabelRole.REWORK or email.state in SETTLED

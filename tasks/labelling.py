"""Shows on a thread what became of its e-mail: our labels, made on demand, put on and taken off once."""

from collections.abc import Collection
from uuid import UUID

from domain.effects import Strategy
from domain.failures import Conflict
from domain.job import JsonObject
from domain.mail.correspondence import LabelPlan, LabelRole, label_name, match_roles
from domain.mail.mailbox import DRAFT, INBOX, MailboxLabel, ThreadFacts
from providers.ports import Mailbox
from storage import accounts, expected_writes, labels, messages
from storage.expected_writes import ExpectedWrite
from tasks.context import JobContext


def show(ctx: JobContext, mailbox: Mailbox, account_id: UUID, thread_id: str, plan: LabelPlan) -> JsonObject:
    """Make a thread carry exactly what the plan says; doing it again changes nothing.

    Labels go on the thread's messages one by one, because a draft message can carry none (providers.md 1.6).
    """
    ids = _label_ids(ctx, mailbox, account_id, plan.add)
    with ctx.tx() as tx:
        known = labels.ids_by_role(tx, account_id)
    add = frozenset(ids.values())
    remove = frozenset(known[role] for role in plan.remove if role in known) | (
        {INBOX} if plan.archive else frozenset()
    )
    if not add and not remove:
        return {"changed": 0}
    thread = mailbox.thread(thread_id)
    return ctx.effect(
        f"labels:{ctx.job.job_id}:{thread_id}",
        lambda: _change(ctx, mailbox, account_id, thread, add, remove),
        strategy=Strategy.IDEMPOTENT,
    )


def _change(
    ctx: JobContext,
    mailbox: Mailbox,
    account_id: UUID,
    thread: ThreadFacts,
    add: frozenset[str],
    remove: frozenset[str],
) -> JsonObject:
    changed = 0
    for message in thread.messages:
        missing, unwanted = add - message.label_ids, remove & message.label_ids
        if DRAFT in message.label_ids or not (missing or unwanted):
            continue
        _expect(ctx, account_id, message.message_id, missing, unwanted)
        mailbox.modify_message(message.message_id, add=sorted(missing), remove=sorted(unwanted))
        with ctx.tx() as tx:
            messages.change_labels(tx, account_id, {message.message_id}, add=missing, remove=unwanted)
        changed += 1
    return {"changed": changed}


def _expect(
    ctx: JobContext, account_id: UUID, message_id: str, added: Collection[str], removed: Collection[str]
) -> None:
    """Write down what will come back as history, before the call that causes it."""
    writes = [ExpectedWrite("labels_added", message_id=message_id, label_id=one) for one in sorted(added)]
    writes += [ExpectedWrite("labels_removed", message_id=message_id, label_id=one) for one in sorted(removed)]
    with ctx.tx() as tx:
        expected_writes.expect(tx, account_id, writes)


def _label_ids(
    ctx: JobContext, mailbox: Mailbox, account_id: UUID, roles: Collection[LabelRole]
) -> dict[LabelRole, str]:
    """The ids of our labels; those that do not exist are made, parent first."""
    with ctx.tx() as tx:
        known = labels.ids_by_role(tx, account_id)
        parent = accounts.get(tx, account_id).settings.label_parent
    missing = [role for role in roles if role not in known]
    if missing:
        known = _make(ctx, mailbox, account_id, missing, parent)
    return {role: known[role] for role in roles}


def _make(
    ctx: JobContext, mailbox: Mailbox, account_id: UUID, roles: Collection[LabelRole], parent: str
) -> dict[LabelRole, str]:
    for name in (parent, *(label_name(role, parent) for role in roles)):
        ctx.effect(
            f"label:{account_id}:{name}:{ctx.job.job_id}",
            lambda name=name: _create(mailbox, name),  # type: ignore[misc] # the default binds the name of this turn
            strategy=Strategy.IDEMPOTENT,
        )
    listed = mailbox.labels()
    matched = match_roles(listed, parent)
    with ctx.tx() as tx:
        labels.add(tx, account_id, listed)
        for role, label_id in matched.items():
            labels.assign_role(tx, account_id, label_id, role)
    return matched


def _create(mailbox: Mailbox, name: str) -> JsonObject:
    try:
        made: MailboxLabel = mailbox.create_label(name)
    except Conflict:
        # Gmail takes look-alikes for the same name; the listing that follows finds which one it has.
        return {"name": name, "made": False}
    return {"name": name, "made": True, "label_id": made.label_id}

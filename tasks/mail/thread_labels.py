"""Shows on a thread what became of its e-mail: our labels, made on demand, put on and taken off once."""

from collections.abc import Collection, Sequence
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.failures import Conflict, Permanent, Transient
from domain.jobs.job import JsonObject
from domain.mail.correspondence import LabelPlan, LabelRole, label_key, label_name, match_roles
from domain.mail.mailbox import DRAFT, INBOX, MailboxLabel, ThreadFacts
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import accounts, expected_writes, labels
from storage.accounts.accounts import Account
from storage.accounts.expected_writes import ExpectedWrite
from storage.accounts.labels import Synced
from storage.ledger import audit
from storage.mail import messages

INVALID_LABEL = "gmail.invalidArgument"
"""What Gmail answers when a label id names nothing any more."""


def show(ctx: JobContext, mailbox: Mailbox, account_id: UUID, thread_id: str, plan: LabelPlan) -> JsonObject:
    """Make a thread carry exactly what the plan says; doing it again changes nothing.

    Labels go on the thread's messages one by one, because a draft message can carry none (docs: gmail.md#drafts).
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
    try:
        return ctx.effect(
            f"labels:{ctx.job.job_id}:{thread_id}",
            lambda: _change(ctx, mailbox, account_id, thread, add, remove),
            strategy=Strategy.IDEMPOTENT,
        )
    except Permanent as refusal:
        if refusal.code == INVALID_LABEL and _have_changed(ctx, mailbox, account_id, add | remove):
            raise Transient("a label of ours was deleted from the mailbox", code="labels.changed") from None
        raise


def take_over(ctx: JobContext, account: Account, listed: Sequence[MailboxLabel]) -> Synced:
    """Store the labels as Gmail lists them now; rules that name a vanished one are disabled, and that is told."""
    with ctx.tx() as tx:
        found = labels.sync(tx, account.account_id, listed)
        for role, label_id in match_roles(listed, account.settings.label_parent).items():
            labels.assign_role(tx, account.account_id, label_id, role)
        for rule_id in sorted(found.disabled_rules):
            audit.append(tx, ctx.job, "rule.disabled", {"rule_id": str(rule_id), "why": "its label was deleted"})
    return found


def offer(ctx: JobContext, mailbox: Mailbox, account_id: UUID) -> None:
    """Make all of our labels in a mailbox that has none of them: a person can only use those that are there.

    What was found is kept, or an attempt after a death half-way would take the first labels for all of them.
    """

    def look() -> JsonObject:
        with ctx.tx() as tx:
            return {"offered": bool(labels.ids_by_role(tx, account_id))}

    if not ctx.step("labels_offered", look)["offered"]:
        _label_ids(ctx, mailbox, account_id, list(LabelRole))


def _have_changed(ctx: JobContext, mailbox: Mailbox, account_id: UUID, used: frozenset[str]) -> bool:
    """Whether Gmail lists some of the labels no longer; if so they are forgotten, to be made anew."""
    with ctx.tx() as tx:
        account = accounts.get(tx, account_id)
    listed = mailbox.labels()
    if used <= {one.label_id for one in listed}:
        return False
    take_over(ctx, account, listed)
    return True


def _change(
    ctx: JobContext,
    mailbox: Mailbox,
    account_id: UUID,
    thread: ThreadFacts,
    add: frozenset[str],
    remove: frozenset[str],
) -> JsonObject:
    shown = [message for message in thread.messages if DRAFT not in message.label_ids]
    changed = 0
    for message in shown:
        missing, unwanted = add - message.label_ids, remove & message.label_ids
        if missing or unwanted:
            _expect(ctx, account_id, message.message_id, missing, unwanted)
            mailbox.modify_message(message.message_id, add=sorted(missing), remove=sorted(unwanted))
            changed += 1
    with ctx.tx() as tx:
        # Those too that need no change now: an attempt that died may have changed them and not said so.
        messages.change_labels(tx, account_id, {message.message_id for message in shown}, add=add, remove=remove)
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
    matched = _look_alikes(listed, roles, parent) | match_roles(listed, parent)
    if not matched.keys() >= set(roles):
        raise Permanent(f"Gmail neither has nor makes the labels under {parent}", code="labels.refused")
    with ctx.tx() as tx:
        labels.add(tx, account_id, listed)
        for role, label_id in matched.items():
            labels.assign_role(tx, account_id, label_id, role)
    return matched


def _look_alikes(listed: Sequence[MailboxLabel], roles: Collection[LabelRole], parent: str) -> dict[LabelRole, str]:
    """Labels that Gmail takes for ours because a hyphen stands for the slash (docs: gmail.md#labels)."""
    wanted = {_as_gmail_compares(label_name(role, parent)): role for role in roles}
    found = {wanted.get(_as_gmail_compares(one.name)): one.label_id for one in listed if one.kind == "user"}
    return {role: label_id for role, label_id in found.items() if role is not None}


def _as_gmail_compares(name: str) -> str:
    return label_key(name).replace("/", "-")


def _create(mailbox: Mailbox, name: str) -> JsonObject:
    try:
        made: MailboxLabel = mailbox.create_label(name)
    except Conflict:
        # Gmail takes look-alikes for the same name; the listing that follows finds which one it has.
        return {"name": name, "made": False}
    return {"name": name, "made": True, "label_id": made.label_id}
